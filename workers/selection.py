"""Which rows of a job's arrays are compared, and which columns: by number, by identifiers, and without holes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from workers.arrays import MissingChunks
    from workers.kept import Kept
    from workers.references import Reference

OnNonFinite = Literal["error", "drop", "drop-columns"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One array, before it is known which of its rows are compared.

    Attributes
    ----------
    name : str
        Its place in the request.
    reference : Reference
        Where it is; its rows are all, or a range.
    distances : bool
        Whether its columns are the same rows.
    identifiers : Reference or None
        One for each stored row, of the same range.
    index : Reference or None
        Numbers of the rows that are wanted.
    index_pointer : str
        Where in the request these are named.
    """

    name: str
    reference: Reference
    distances: bool = False
    identifiers: Reference | None = None
    index: Reference | None = None
    index_pointer: str = ""

    @property
    def shown(self) -> str:
        """What errors call it."""
        return self.reference.shown(self.name)


@dataclass(frozen=True, slots=True)
class Selection:
    """How it is found out which rows of these arrays are compared."""

    arrays: tuple[Candidate, ...]
    join: bool = False
    on_non_finite: OnNonFinite = "error"
    missing_chunks: MissingChunks = "error"

    @property
    def plain(self) -> bool:
        """Whether nothing can be left out or moved: identifiers are compared, and no more."""
        return not self.join and self.on_non_finite == "error" and all(one.index is None for one in self.arrays)


@dataclass(frozen=True, slots=True)
class Findings:
    """What a selection came to.

    Attributes
    ----------
    digest : str
        Of all positions, in order.
    rows : int
        How many rows are compared.
    selected : tuple of int
        For each array, how many rows the request named.
    unmatched : tuple of int
        For each array, how many of these have no partner in all others.
    not_finite : int
        Rows that left all arrays since they are not finite in one of them.
    columns_dropped : tuple of int
    first_not_finite : tuple of int
        The first of these rows, as the first array stores them.
    identified : str or None
        Digest of the identifiers.
    repeated : int
        Identifiers that occur more than once.
    """

    digest: str
    rows: int
    selected: tuple[int, ...]
    unmatched: tuple[int, ...]
    not_finite: int
    columns_dropped: tuple[int, ...]
    first_not_finite: tuple[int, ...]
    identified: str | None
    repeated: int

    def dropped(self, place: int) -> int:
        """How many rows of one array were left out."""
        return self.selected[place] - self.rows


@dataclass(frozen=True, eq=False)
class Selected:
    """What is compared: for each array what is kept of its window, in the order of the rows.

    `positions` are those of the compared rows among the selected rows of the first array.
    """

    arrays: tuple[Kept, ...]
    positions: NDArray[np.int64]
    findings: Findings
