"""Measures that stop early: how many of their shards, from the first on, are enough."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from workers.partials import Accumulator

if TYPE_CHECKING:
    from service.ledger import Ledger
    from workers.measures.protocol import Measure, MeasureOptions, PairFacts


@dataclass
class Prefix:
    """The shards 0 to k of one measure, as far as they are finished without a gap.

    The result is made of the shortest prefix that is enough. Which that is follows from what the shards found, not
    from when they were finished, so a restarted service comes to the same.
    """

    ledger: Ledger
    job: str
    position: int
    measure: Measure
    options: MeasureOptions
    facts: PairFacts
    confidence: float
    length: int = 0
    _sum: Accumulator = field(default_factory=Accumulator)

    def advance(self) -> bool:
        """Take in what was finished since the last call; True once it is enough, and the ledger knows."""
        with closing(self.ledger.following(self.job, self.position, self.length)) as partials:
            enough = False
            for partial in partials:
                self._sum.add(partial)
                self.length += 1
                if enough := self._enough():
                    break
        if enough:
            self.ledger.settle(self.job, self.position, self.length)
        return enough

    def _enough(self) -> bool:
        total = self._sum.total()
        facts = replace(self.facts, precision=total.precision or self.facts.precision)
        return self.measure.enough(total, facts, self.options, self.confidence)
