"""Sampled QSI: independent quadruplets, each two disjoint pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ordsim_core import quadruplets
from ordsim_core.counts import quadruplet_population
from workers import costs
from workers.measures.sampled import SampledMeasure, SampledOptions

if TYPE_CHECKING:
    from ordsim_core.counts import AgreementCounts
    from workers.measures.protocol import MeasureOptions, Pair, PairShape


class QsiSampledOptions(SampledOptions):
    """Options of sampled QSI."""

    measure: Literal["qsi"]


class QsiSampled(SampledMeasure):
    """QSI estimated from independent quadruplets."""

    measure = "qsi"
    title = "Quadruplet Similarity Index from sampled quadruplets"
    minimum_rows = 4
    options: type[MeasureOptions] = QsiSampledOptions

    def sample_seconds(self, shape: PairShape) -> float:
        """Estimate the time of one quadruplet."""
        return costs.quadruplet_seconds(shape)

    def count(self, pair: Pair, seed: int, start: int, stop: int) -> AgreementCounts:
        """Count one range of the stream of quadruplets."""
        return quadruplets.sampled_range(pair.x, pair.y, seed, start, stop)

    def population(self, rows: int) -> int:
        """Count all quadruplet comparisons."""
        return quadruplet_population(rows)
