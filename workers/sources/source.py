"""What every format comes to: an array that is read in blocks of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workers.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    Blocks = Iterator[NDArray[Any]]

MOST_LISTED = 20


@dataclass(frozen=True)
class Source:
    """An array in a file.

    Attributes
    ----------
    shown : str
        What errors call it.
    shape : tuple of int
    dtype : numpy.dtype
        Of the blocks: native, and wide enough for numpy. Of text of any length, one of its kind.
    blocks : callable
        Given a number of rows, begins to read: blocks of so many rows, and one of the rest.
    """

    shown: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    blocks: Callable[[int], Blocks]

    @property
    def nbytes(self) -> int:
        """Bytes of all values, as `dtype` has them."""
        return math.prod(self.shape) * self.dtype.itemsize


def mapped(shown: str, values: NDArray[Any], widen: Callable[[NDArray[Any]], NDArray[Any]] | None = None) -> Source:
    """A source of an array that is mapped, or sliced like one; `widen` makes numpy's values of its own."""
    dtype = widen(values[:0]).dtype if widen else values.dtype.newbyteorder("=")

    def blocks(rows: int) -> Blocks:
        for start in range(0, values.shape[0], rows):
            block = values[start : start + rows]
            yield widen(block) if widen else np.ascontiguousarray(block, dtype)

    return Source(shown, tuple(values.shape), dtype, blocks)


def even(pieces: Iterable[NDArray[Any]], rows: int) -> Blocks:
    """Cut pieces of any length into blocks of so many rows."""
    kept: list[NDArray[Any]] = []
    held = 0
    for piece in pieces:
        while len(piece):
            taken = piece[: rows - held]
            piece = piece[len(taken) :]
            kept.append(taken)
            held += len(taken)
            if held == rows:
                yield np.concatenate(kept) if len(kept) > 1 else kept[0]
                kept, held = [], 0
    if held:
        yield np.concatenate(kept)


def refuse(shown: str, why: str, slug: str = "invalid-request") -> ProblemError:
    """The error that says why a file is not imported."""
    return ProblemError(slug, f"{shown} {why}", "request")


def not_whole(shown: str, kind: str, error: BaseException) -> ProblemError:
    """The error of a file that is damaged, or none of its kind."""
    return refuse(shown, f"is not a whole {kind} file: {type(error).__name__}.")


def choose(shown: str, members: Mapping[str, str], key: str | None) -> str:
    """The member that is meant: the one of this name, or the only one; `members` says of each what it is.

    Raises
    ------
    ProblemError
        invalid-request, with a list of what there is.
    """
    if key is not None and key in members:
        return key
    if key is None and len(members) == 1:
        return next(iter(members))
    if not members:
        raise refuse(shown, "holds no array.")
    listed = [f"{name} ({what})" for name, what in list(members.items())[:MOST_LISTED]]
    if len(members) > MOST_LISTED:
        listed.append(f"{len(members) - MOST_LISTED} more")
    said = f"has no {key!r}" if key is not None else f"holds {len(members)} arrays"
    raise refuse(shown, f"{said}. Choose one, as FILE::NAME: {', '.join(listed)}.")


def described(shape: Iterable[int], dtype: object) -> str:
    """What a list of members says of one: 2000 x 384 float32."""
    return f"{' x '.join(map(str, shape)) or 'a single value'} {dtype}"


def require_extra(shown: str, kind: str, package: str) -> ProblemError:
    """The error of a format whose package is not installed."""
    return refuse(shown, f"is a {kind} file, which {package} reads. Install it: pip install 'ordsim[imports]'.")
