"""Real embeddings: the integer counts of an independent implementation, halved to unordered comparisons."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ordsim_core import quadruplets, triplets
from ordsim_core.counts import triplet_population
from ordsim_core.distances import Distance
from ordsim_core.spaces import Space, prepare

DATA = Path(__file__).parent.parent / "data"
PAIRS = json.loads((DATA / "controls" / "reference.json").read_text())["pairs"]


def stored(name: str) -> np.ndarray:
    """One of the real arrays, in whichever folder it lies."""
    return np.load(next(DATA.glob(f"*/{name}.npy")))


@cache
def space(name: str, rows: int) -> Space:
    return prepare(stored(name)[:rows], Distance.EUCLIDEAN)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair["pair"])
def test_counts_are_those_of_the_reference(pair: dict[str, Any]) -> None:
    rows = pair["n"]
    x, y = (space(name, rows) for name in pair["pair"].split(" ~ "))
    block = triplets.exact_block(x, y, 0, rows)
    counts = block.counts
    assert [2 * counts.agreeing, 2 * counts.comparisons] == pair["tsi_counts_cdist64"]
    assert counts.comparisons == triplet_population(rows)
    assert [counts.tied_x + counts.tied_both, counts.tied_y + counts.tied_both] == pair["anchor_tie_pairs_xy_cdist64"]
    assert int(block.agreeing.sum()) == counts.agreeing


def test_a_copy_in_column_order_disagrees_nowhere() -> None:
    x = space("text_L6_f32", 1000)
    copy = prepare(np.asfortranarray(stored("text_L6_f32")[:1000]), Distance.EUCLIDEAN)
    counts = triplets.exact_block(x, copy, 0, 1000).counts
    assert (counts.discordant, counts.deficit, counts.score) == (0, 0.0, 1.0)


@pytest.mark.parametrize("sampler", [triplets.sampled_range, quadruplets.sampled_range])
def test_samples_of_a_copy_disagree_nowhere(sampler: Any) -> None:
    x = space("text_L6_f32", 1000)
    assert sampler(x, x, 3, 0, 2000).counts.deficit == 0.0
