"""Sampled TSI: independent triplets, each an anchor with two targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ordsim_core import triplets
from ordsim_core.counts import triplet_population
from workers import costs
from workers.measures.sampled import SampledMeasure, SampledOptions

if TYPE_CHECKING:
    from ordsim_core.counts import AgreementCounts
    from workers.measures.protocol import MeasureOptions, Pair, PairShape


class TsiSampledOptions(SampledOptions):
    """Options of sampled TSI."""

    measure: Literal["tsi"]


class TsiSampled(SampledMeasure):
    """TSI estimated from independent triplets."""

    measure = "tsi"
    title = "Triplet Similarity Index from sampled triplets"
    minimum_rows = 3
    options: type[MeasureOptions] = TsiSampledOptions

    def sample_seconds(self, shape: PairShape) -> float:
        """Estimate the time of one triplet."""
        return costs.triplet_seconds(shape)

    def count(self, pair: Pair, seed: int, start: int, stop: int) -> AgreementCounts:
        """Count one range of the stream of triplets."""
        return triplets.sampled_range(pair.x, pair.y, seed, start, stop)

    def population(self, rows: int) -> int:
        """Count all triplet comparisons."""
        return triplet_population(rows)
