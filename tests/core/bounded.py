"""Counts that intervals on bounded means are tested with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from ordsim_core.counts import AgreementCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

confidences = st.sampled_from([0.5, 0.8, 0.95, 0.99, 0.999999])


def array(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def counts(agreeing: int, comparisons: int) -> AgreementCounts:
    return AgreementCounts(concordant=agreeing, discordant=comparisons - agreeing)


@st.composite
def units(draw: st.DrawFn) -> tuple[NDArray[np.int64], int]:
    each = draw(st.sampled_from([1, 2, 10, 496, 2**40, 2**61]))
    kind = draw(st.sampled_from([st.integers(0, each), st.integers(max(0, each - 3), each), st.just(each)]))
    return array(draw(st.lists(kind, min_size=1, max_size=40))), each


def drawn_units() -> list[tuple[NDArray[np.int64], int]]:
    random = np.random.default_rng(5)
    return [
        (array([1]), 2),
        (array([2]), 2),
        (random.integers(0, 2, 50), 1),
        (random.binomial(496, 0.97, 300), 496),
        (np.rint(random.beta(0.2, 0.02, 400) * 6).astype(np.int64), 6),
        (np.full(1000, 10), 10),
        (random.integers(2**59, 2**61, 80), 2**61),
    ]
