"""What one shard contributes to a measure, how two contributions add up, and how they are written down."""

from __future__ import annotations

import io
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.counts import AgreementCounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

PATHS = ("chains", "direct", "exact")
"""Tallies of how elements came to their order: in chains of uncertain neighbours, by distances computed again in
float64, by distances in exact arithmetic."""

UNCERTIFIED = "uncertified"
"""Tally of comparisons whose order is in doubt."""

PRECISIONS = ("exact", "float64", "float32")
"""The strongest first: a total is as strong as the weakest of its parts."""


@dataclass(frozen=True)
class Partial:
    """Integers that add up, and pieces of per-row vectors that stand side by side.

    Attributes
    ----------
    counts : AgreementCounts
        Added as Python integers: N^4 overflows 64 bits.
    pieces : mapping of str to mapping of int to ndarray
        For each per-row quantity, its pieces by the row they start at; no two shards share a row.
    sums : mapping of str to ndarray of int64
        Vectors or tables that add up element by element, such as what each row contributed as a target. Every shard
        writes the whole of it into the ledger: a measure that has one must cut few shards, or have few rows.
    tally : mapping of str to int
        Further integers that add up: `PATHS`, `UNCERTIFIED`.
    moments : mapping of str to ndarray of float64
        Sums that are rounded: they add up in the order of the shards. Whoever has them cuts shards from shape and
        options alone, so that the same numbers are added whatever the cluster; and few shards, as with sums.
    precision : str or None
        With which distances were ordered, one of `PRECISIONS`; of a total, the weakest. Set by the task that counts.
    """

    counts: AgreementCounts = field(default_factory=AgreementCounts)
    pieces: Mapping[str, Mapping[int, NDArray[Any]]] = field(default_factory=dict)
    sums: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    tally: Mapping[str, int] = field(default_factory=dict)
    precision: str | None = None
    moments: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def __add__(self, other: Partial) -> Partial:
        return Partial.total((self, other))

    @classmethod
    def total(cls, partials: Iterable[Partial]) -> Partial:
        """Add up any number, in time that grows with their number: `sum` would copy the pieces at each step.

        Raises
        ------
        OverflowError
            An element of a sum leaves 64 bits.
        ValueError
            Two sums of one name differ in length, or one is not of int64.
        """
        accumulator = Accumulator()
        for partial in partials:
            accumulator.add(partial)
        return accumulator.total()

    def vector(self, name: str) -> NDArray[Any]:
        """Join the pieces of a per-row quantity in row order."""
        pieces = self.pieces[name]
        return np.concatenate([pieces[start] for start in sorted(pieces)])

    @property
    def paths(self) -> dict[str, int]:
        """How many elements took each of `PATHS`."""
        return {name: self.tally.get(name, 0) for name in PATHS}

    @property
    def uncertified(self) -> int:
        """How many comparisons are in doubt."""
        return self.tally.get(UNCERTIFIED, 0)

    def to_bytes(self) -> bytes:
        """Write as a numpy archive without pickles; counts of any size as decimal strings."""
        counts = self.counts
        kinds = (counts.concordant, counts.discordant, counts.tied_x, counts.tied_y, counts.tied_both)
        header = {
            "counts": [str(count) for count in kinds],
            "sums": list(self.sums),
            "tally": {name: str(number) for name, number in self.tally.items()},
            "precision": self.precision,
            "moments": list(self.moments),
        }
        arrays = {f"{name}@{start}": piece for name, starts in self.pieces.items() for start, piece in starts.items()}
        # No name of a piece is without its separator.
        arrays |= {f"sum{place}": summand for place, summand in enumerate(self.sums.values())}
        arrays |= {f"moment{place}": summand for place, summand in enumerate(self.moments.values())}
        buffer = io.BytesIO()
        np.savez(buffer, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)  # type: ignore[arg-type]
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, blob: bytes) -> Partial:
        """Read what `to_bytes` wrote."""
        pieces: dict[str, dict[int, NDArray[Any]]] = {}
        with np.load(io.BytesIO(blob), allow_pickle=False) as archive:
            header = json.loads(archive["header"].tobytes())
            sums = {name: archive[f"sum{place}"] for place, name in enumerate(header["sums"])}
            moments = {name: archive[f"moment{place}"] for place, name in enumerate(header["moments"])}
            for key in archive.files:
                name, separator, start = key.rpartition("@")
                if separator:
                    pieces.setdefault(name, {})[int(start)] = archive[key]
        counts = AgreementCounts(*(int(count) for count in header["counts"]))
        tally = {name: int(number) for name, number in header["tally"].items()}
        return cls(counts, pieces, sums, tally, header["precision"], moments)


class Accumulator:
    """Adds up partials one by one; each costs what it holds itself, however many came before."""

    def __init__(self) -> None:
        self._counts = AgreementCounts()
        self._pieces: dict[str, dict[int, NDArray[Any]]] = {}
        self._sums: dict[str, NDArray[np.int64]] = {}
        self._tally: Counter[str] = Counter()
        self._precision: str | None = None
        self._moments: dict[str, NDArray[np.float64]] = {}

    def add(self, partial: Partial) -> None:
        """Add one more; OverflowError and ValueError as `Partial.total`."""
        self._counts += partial.counts
        for name, starts in partial.pieces.items():
            self._pieces.setdefault(name, {}).update(starts)
        for name, summand in partial.sums.items():
            _add(self._sums, name, summand)
        for name, number in partial.tally.items():
            self._tally[name] += number
        self._precision = weaker(self._precision, partial.precision)
        for name, moment in partial.moments.items():
            _add_rounded(self._moments, name, moment)

    def total(self) -> Partial:
        """Give the sum so far: to be read before the next is added, which may change what it holds."""
        return Partial(
            self._counts,
            {name: self._pieces[name] for name in sorted(self._pieces)},
            {name: self._sums[name] for name in sorted(self._sums)},
            {name: self._tally[name] for name in sorted(self._tally)},
            self._precision,
            {name: self._moments[name] for name in sorted(self._moments)},
        )


def _add(sums: dict[str, NDArray[np.int64]], name: str, summand: NDArray[np.int64]) -> None:
    total = _begun(sums, name, summand, np.int64)
    if total is None:
        return
    before = total >= 0
    total += summand  # numpy wraps without a word
    same_sign = before == (summand >= 0)
    if (same_sign & ((total >= 0) != before)).any():
        raise OverflowError(f"the sum {name!r} does not fit into 64 bits")


def _add_rounded(moments: dict[str, NDArray[np.float64]], name: str, summand: NDArray[np.float64]) -> None:
    total = _begun(moments, name, summand, np.float64)
    if total is not None:
        total += summand


def _begun(sums: dict[str, NDArray[Any]], name: str, summand: NDArray[Any], dtype: type) -> NDArray[Any] | None:
    """Give the sum to add to, which this module made, so that no argument is changed; None if this is the first."""
    if summand.dtype != dtype:
        raise ValueError(f"the sum {name!r} is of {summand.dtype}, and must be of {np.dtype(dtype)}")
    if name not in sums:
        sums[name] = summand.copy()
        return None
    if sums[name].shape != summand.shape:
        raise ValueError(f"the sums {name!r} of two shards have shapes {sums[name].shape} and {summand.shape}")
    return sums[name]


def weaker(one: str | None, other: str | None) -> str | None:
    """Of two precisions the weaker one; None stands for none."""
    known = [precision for precision in (one, other) if precision is not None]
    return max(known, key=PRECISIONS.index) if known else None
