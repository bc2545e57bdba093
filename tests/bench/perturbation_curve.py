"""Data of a picture: deficits of linear CKA of arrays that differ by less and less, against exact fractions.

    python tests/bench/perturbation_curve.py [FILE]

Writes JSON, one entry for each of float64 and float32: the size of the difference, the exact deficit, what the
direct form gives, and what 1 - score gives, each with its relative error. A few seconds; nothing is timed.
"""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracle"))

import exact_cosines

from ordsim_core.cosine.linear import linear_cka

ROWS, COLUMNS, SEED = 16, 5, 20
EXPONENTS = np.arange(-1.0, -15.5, -0.5)
OUTPUT = Path(__file__).parent / "results" / "perturbation_curve.json"


def curve(dtype: str) -> list[dict[str, float]]:
    """Compute one curve; where the difference is lost to the type there is no deficit, and no relative error."""
    rng = np.random.default_rng(SEED)
    x = rng.standard_normal((ROWS, COLUMNS)).astype(dtype)
    direction = rng.standard_normal((ROWS, COLUMNS))
    points = []
    for size in 10.0**EXPONENTS:
        y = (x.astype(np.float64) + size * direction).astype(dtype)
        exact = exact_cosines.cosine(x, y, "biased")
        found = linear_cka(x, y)
        if exact is None or found.deficit is None or found.naive_deficit is None:
            raise AssertionError(f"{dtype}, {size}: no deficit of arrays that vary")
        points.append(
            {
                "size": float(size),
                "exact": float(exact[1]),
                "direct": found.deficit,
                "subtracted": found.naive_deficit,
                "directError": _error(found.deficit, exact[1]),
                "subtractedError": _error(found.naive_deficit, exact[1]),
            }
        )
    return points


def document() -> dict[str, Any]:
    """All curves, with what they are of."""
    about = f"linear CKA of {ROWS} x {COLUMNS} normal values and the same plus normal values times size"
    return {"about": about, "curves": {dtype: curve(dtype) for dtype in ("float64", "float32")}}


def _error(found: float, exact: Decimal) -> float:
    return float(abs(Decimal(found) - exact) / exact) if exact else float(found != 0)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(document(), indent=1) + "\n")
    print(target)
