"""Real embeddings: the integer counts of an independent implementation, halved to unordered comparisons."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ordsim_core import concordance, quadruplets, triplets
from ordsim_core.counts import quadruplet_population, triplet_population
from ordsim_core.distances import Distance, Space, block_keys, prepare

DATA = Path(__file__).parent.parent / "data"
PAIRS = json.loads((DATA / "controls" / "reference.json").read_text())["pairs"]


def stored(name: str) -> np.ndarray:
    """One of the real arrays, in whichever folder it lies."""
    return np.load(next(DATA.glob(f"*/{name}.npy")))


@cache
def space(name: str, rows: int) -> Space:
    return prepare(stored(name)[:rows], Distance.EUCLIDEAN)


def pair_keys(space: Space) -> np.ndarray:
    """Keys of all pairs of rows, and a place for the one that `count_pairs` leaves out."""
    return np.append(np.inf, block_keys(space, 0, space.rows)[np.triu_indices(space.rows, 1)])[None, :]


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
    # Pairs of pairs either share a row, which are the triplets, or do not, which are the quadruplets.
    keys = concordance.count_pairs(pair_keys(x), pair_keys(y), 0)
    agreeing = int(concordance.agreeing(keys, rows * (rows - 1) // 2)[0]) - counts.agreeing
    assert [2 * agreeing, 2 * quadruplet_population(rows)] == pair["qsi_counts_cdist64"]


def test_a_copy_in_column_order_disagrees_nowhere() -> None:
    x = space("text_L6_f32", 1000)
    copy = prepare(np.asfortranarray(stored("text_L6_f32")[:1000]), Distance.EUCLIDEAN)
    counts = triplets.exact_block(x, copy, 0, 1000).counts
    assert (counts.discordant, counts.deficit, counts.score) == (0, 0.0, 1.0)


@pytest.mark.parametrize("sampler", [triplets.sampled_range, quadruplets.sampled_range])
def test_samples_of_a_copy_disagree_nowhere(sampler: Any) -> None:
    x = space("text_L6_f32", 1000)
    assert sampler(x, x, 3, 0, 2000).deficit == 0.0
