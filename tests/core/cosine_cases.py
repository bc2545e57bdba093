"""Cases with known cosines, and how a result is compared with many digits."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent.parent / "data" / "oracle"
CASES: list[dict[str, Any]] = json.loads((FOLDER / "cases.json").read_text())["cases"]
COSINES: dict[str, dict[str, list[str] | None]] = json.loads((FOLDER / "cosines.json").read_text())["cases"]


def arrays(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """The two arrays of a tabulated case."""
    x, y = (np.array([[float.fromhex(value) for value in row] for row in case[side]], case["dtype"]) for side in "xy")
    return x, y


def tabulated(case: dict[str, Any], name: str) -> tuple[Decimal, Decimal] | None:
    """Similarity and deficit of a case; None where undefined."""
    found = COSINES[case["name"]][name]
    return None if found is None else (Decimal(found[0]), Decimal(found[1]))


def off(found: float | None, expected: Decimal) -> float:
    """Relative error; of what is exactly zero, 0 if it was found, else infinite."""
    assert found is not None
    with localcontext(prec=60):
        if expected == 0:
            return 0.0 if found == 0 else float("inf")
        return float(abs(Decimal(found) - expected) / abs(expected))


def perturbed(delta: float, dtype: str, rows: int = 12, columns: int = 4, seed: int = 5) -> tuple[Any, Any]:
    """Normal values, and the same with noise of relative size delta, both rounded to a type."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, columns)).astype(dtype)
    y = (x.astype("f8") + delta * rng.standard_normal((rows, columns))).astype(dtype)
    return x, y
