"""The reference counts of the real pairs, and how an answer is compared with them."""

from __future__ import annotations

import json
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"
REFERENCE = {pair["pair"]: pair for pair in json.loads(next(DATA.glob("*/reference.json")).read_text())["pairs"]}
EXACT = {"measure": "tsi", "method": "exact"}


def check_counts(counts: dict[str, str], pair: str) -> None:
    """Compare unordered counts with the reference, which counts ordered comparisons."""
    agreeing, population = REFERENCE[pair]["tsi_counts_cdist64"]
    assert int(counts["agreeing"]) * 2 == agreeing
    assert int(counts["comparisons"]) * 2 == int(counts["population"]) * 2 == population
    tied_x, tied_y = REFERENCE[pair]["anchor_tie_pairs_xy_cdist64"]
    assert int(counts["tiedX"]) + int(counts["tiedBoth"]) == tied_x
    assert int(counts["tiedY"]) + int(counts["tiedBoth"]) == tied_y
    kinds = ("concordant", "discordant", "tiedX", "tiedY", "tiedBoth")
    assert sum(int(counts[kind]) for kind in kinds) == int(counts["comparisons"])
