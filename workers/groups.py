"""Groups: a label for each row that says which rows belong together, such as stimuli, classes or subjects."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from workers import labels
from workers.environment import from_environment
from workers.errors import ProblemError, changed
from workers.labels import Role

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workers.arrays import MissingChunks
    from workers.references import Reference, Roots
    from workers.selecting import Chosen

KEPT = 4
"""Arrays of labels that a process keeps."""

ROLE = Role("groups", "label", "labels", "/groups", "row-count-mismatch", "/groups")


@dataclass(frozen=True, slots=True)
class Labels:
    """Where the labels of a job's rows are.

    Attributes
    ----------
    reference : Reference
        Their array, and the range of it that is read.
    chosen : Chosen or None
        Which rows of the first array are compared, where these are not all.
    of_stored : bool
        Whether there is a label for each row that is stored of that array, rather than for each that the request names.
    """

    reference: Reference
    chosen: Chosen | None = None
    of_stored: bool = True

    def of_compared(self, found: NDArray[Any]) -> NDArray[Any]:
        """Take the labels of the compared rows out of those that were read.

        Raises
        ------
        ProblemError
            row-count-mismatch if there are fewer labels than rows.
        """
        if self.chosen is None:
            return found
        selected = self.chosen.all()
        wanted = selected.arrays[self.chosen.place].rows if self.of_stored else selected.positions
        if len(wanted) and wanted.max() >= len(found):
            raise ProblemError(
                ROLE.misfit,
                f"Array {ROLE.shown(self.reference)} has {len(found)} labels, and none for row {wanted.max()}. "
                "Give one label for each row.",
                pointer=ROLE.misfit_pointer,
            )
        return found[wanted]


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each compared row.

    Attributes
    ----------
    codes : ndarray of int64, shape (N,)
        Groups by number, from 0 in order of first appearance.
    count : int
        How many groups there are.
    digest : str
        Of the codes, to know them again.
    """

    codes: NDArray[np.int64]
    count: int
    digest: str


def check_metadata(roots: Roots, reference: Reference, rows: int) -> None:
    """Check what metadata alone shows: that there is an integer or a string for each of the compared rows.

    Raises
    ------
    ProblemError
        As `labels.check_metadata`, with row-count-mismatch.
    """
    labels.check_metadata(roots, reference, ROLE, rows, "of x and y")


def read(roots: Roots, wanted: Labels, missing_chunks: MissingChunks = "error") -> Groups:
    """Read the labels of the compared rows and number the groups; `missing_chunks` as for `labels.read`.

    Raises
    ------
    ProblemError
        As `check_metadata` and `Labels.of_compared`; missing-chunks; corrupt-data.
    """
    return number(wanted.of_compared(labels.read(roots, wanted.reference, ROLE, missing_chunks)))


def number(found: NDArray[Any]) -> Groups:
    """Number groups in order of first appearance: what they are called, or how labels sort, changes nothing."""
    distinct, first, inverse = np.unique(found, return_index=True, return_inverse=True)
    codes = np.empty(len(distinct), np.int64)
    codes[np.argsort(first)] = np.arange(len(distinct))
    numbered = codes[inverse.reshape(-1)]
    numbered.flags.writeable = False
    return Groups(numbered, len(distinct), hashlib.sha256(numbered.astype("<i8").tobytes()).hexdigest())


@lru_cache(maxsize=KEPT)
def read_again(wanted: Labels, digest: str) -> Groups:
    """Read, once in a process, the groups that another process found to have this digest.

    Raises
    ------
    ProblemError
        As `read`; corrupt-data if they are others now.
    """
    # Whoever read them first saw to it that absent chunks may be filled; if one was lost since, the digest shows it.
    found = read(from_environment().known_roots(), wanted, "fill")
    if found.digest != digest:
        raise changed(ROLE.shown(wanted.reference))
    return found
