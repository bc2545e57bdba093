"""What one shard contributes to a measure, how two contributions add up, and how they are written down."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.counts import AgreementCounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Partial:
    """Integers that add up, and pieces of per-row vectors that stand side by side.

    Attributes
    ----------
    counts : AgreementCounts
        Added as Python integers: N^4 overflows 64 bits.
    pieces : mapping of str to mapping of int to ndarray
        For each per-row quantity, its pieces by the row they start at; no two shards share a row.
    """

    counts: AgreementCounts = field(default_factory=AgreementCounts)
    pieces: Mapping[str, Mapping[int, NDArray[Any]]] = field(default_factory=dict)

    def __add__(self, other: Partial) -> Partial:
        return Partial.total((self, other))

    @classmethod
    def total(cls, partials: Iterable[Partial]) -> Partial:
        """Add up any number, in time that grows with their number: `sum` would copy the pieces at each step."""
        counts = AgreementCounts()
        pieces: dict[str, dict[int, NDArray[Any]]] = {}
        for partial in partials:
            counts += partial.counts
            for name, starts in partial.pieces.items():
                pieces.setdefault(name, {}).update(starts)
        return cls(counts, {name: pieces[name] for name in sorted(pieces)})

    def vector(self, name: str) -> NDArray[Any]:
        """Join the pieces of a per-row quantity in row order."""
        pieces = self.pieces[name]
        return np.concatenate([pieces[start] for start in sorted(pieces)])

    def to_bytes(self) -> bytes:
        """Write as a numpy archive without pickles; counts of any size as decimal strings."""
        counts = self.counts
        header = {
            "counts": [
                str(count)
                for count in (
                    counts.concordant,
                    counts.discordant,
                    counts.tied_x,
                    counts.tied_y,
                    counts.tied_both,
                )
            ]
        }
        arrays = {f"{name}@{start}": piece for name, starts in self.pieces.items() for start, piece in starts.items()}
        buffer = io.BytesIO()
        np.savez(buffer, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)  # type: ignore[arg-type]
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, blob: bytes) -> Partial:
        """Read what `to_bytes` wrote."""
        pieces: dict[str, dict[int, NDArray[Any]]] = {}
        with np.load(io.BytesIO(blob), allow_pickle=False) as archive:
            header = json.loads(archive["header"].tobytes())
            for key in archive.files:
                if key != "header":
                    name, _, start = key.rpartition("@")
                    pieces.setdefault(name, {})[int(start)] = archive[key]
        return cls(AgreementCounts(*(int(count) for count in header["counts"])), pieces)
