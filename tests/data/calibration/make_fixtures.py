"""Makes `package.json`: what calibrated-similarity 0.1.1 says of small arrays, with the permutations that it used.

    pip install numpy torch calibrated-similarity==0.1.1
    python tests/data/calibration/make_fixtures.py

Statistics are computed in float64, which the package then casts to float32, except where "single" is in the name.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import calibrated_similarity
import numpy as np
import torch
from calibrated_similarity import calibrate, calibrate_layers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

LEVELS = (0.05, 0.1, 0.41)


def cka(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x, y = x - x.mean(0), y - y.mean(0)
    return (x.T @ y).norm() ** 2 / ((x.T @ x).norm() * (y.T @ y).norm())


def gram_cka(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """As in the package's README, over N x N matrices."""
    x, y = x - x.mean(0), y - y.mean(0)
    xy, xx, yy = ((a @ a.T * (b @ b.T)).sum() for a, b in ((x, y), (x, x), (y, y)))
    return xy / torch.sqrt(xx * yy)


def tsi(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Over anchors and unordered pairs of two other rows; ties agree with ties (Soares et al. 2026, definition 1)."""
    rows = len(x)
    signs = []
    for side in (x, y):
        squared = ((side[:, None] - side[None]) ** 2).sum(-1)
        signs.append(torch.sign(squared[:, :, None] - squared[:, None, :]))
    row = torch.arange(rows)
    distinct = (row[:, None, None] != row[:, None]) & (row[:, None, None] != row) & (row[:, None] < row)
    return ((signs[0] == signs[1]) & distinct).sum().double() / (rows * math.comb(rows - 1, 2))


STATISTICS = {"cka": cka, "tsi": tsi}


class Fed:
    """Hands out permutations in order, as the package's perm_fn."""

    def __init__(self, permutations: Iterable[NDArray[np.int64]]) -> None:
        self.left = iter(permutations)

    def __call__(self, rows: int, device: torch.device) -> torch.Tensor:
        return torch.as_tensor(next(self.left), device=device)


def numbers(result: Iterable[torch.Tensor]) -> dict[str, Any]:
    return dict(zip(("score", "p_value", "threshold"), (float(value) for value in result), strict=True))


def arrays(random: np.random.Generator, rows: int, noise: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # Sixteenths, so that float64 distances are exact and some of them are tied.
    hidden = random.normal(size=(rows, 3))
    x, y = hidden[:, :2] + 0.3 * random.normal(size=(rows, 2)), hidden + noise * random.normal(size=(rows, 3))
    return np.rint(x * 16) / 16, np.rint(y * 16) / 16


def scalar_case(name: str, statistic: str, seed: int, rows: int, noise: float, draws: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    x, y = arrays(random, rows, noise)
    permutations = [random.permutation(rows) for _ in range(draws)]
    sim = STATISTICS[statistic]
    found = []
    for smax in (1.0, None):
        for alpha in LEVELS:
            result = calibrate(
                torch.as_tensor(x), torch.as_tensor(y), sim, K=draws, alpha=alpha, smax=smax, perm_fn=Fed(permutations)
            )
            found.append({"alpha": alpha, "smax": smax, **numbers(result)})
    return {
        "name": name,
        "statistic": statistic,
        "x": x.tolist(),
        "y": y.tolist(),
        "permutations": [index.tolist() for index in permutations],
        "found": found,
    }


def layer_case(name: str, statistic: str, seed: int, rows: int, noise: float, draws: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    xs, ys = [], []
    for extra in (0.0, 0.5):
        x, y = arrays(random, rows, noise + extra)
        xs.append(x)
        ys.append(y)
    ys.append(arrays(random, rows, 3.0)[1])
    permutations = [random.permutation(rows) for _ in range(draws)]
    aggregates = {
        "max": "max",
        "mean": "mean",
        "row-max-mean": lambda scores: scores.max(dim=1).values.mean(),
        "column-max-mean": lambda scores: scores.max(dim=0).values.mean(),
    }
    found = []
    for kind, aggregate in aggregates.items():
        result = calibrate_layers(
            [torch.as_tensor(x) for x in xs],
            [torch.as_tensor(y) for y in ys],
            STATISTICS[statistic],
            agg=aggregate,
            K=draws,
            alpha=0.05,
            perm_fn=Fed(permutations),
        )
        found.append({"aggregate": kind, "alpha": 0.05, "smax": 1.0, **numbers(result)})
    return {
        "name": name,
        "statistic": statistic,
        "xs": [x.tolist() for x in xs],
        "ys": [y.tolist() for y in ys],
        "permutations": [index.tolist() for index in permutations],
        "found": found,
    }


def prescribed(observed: float, null: Sequence[float]) -> dict[str, Any]:
    """What the package says of a statistic whose values are these."""
    left = iter([observed, *null])
    placeholder = torch.zeros(2, 1)
    return numbers(calibrate(placeholder, placeholder, lambda _x, _y: next(left), K=len(null), alpha=0.05))


def duplicates() -> dict[str, Any]:
    """Single-precision CKA of x whose rows are repeated: permuting y inside the repeats changes nothing."""
    random = np.random.default_rng(7)
    x = np.rint(np.repeat(random.normal(size=(6, 3)), 4, axis=0) * 16) / 16
    y = random.normal(size=(24, 3)).astype(np.float32).astype(np.float64)
    groups = np.repeat(np.arange(6), 4)
    permutations = []
    for _ in range(99):
        index = np.arange(24)
        for group in range(6):
            index[groups == group] = random.permutation(index[groups == group])
        permutations.append(index)
    single = torch.as_tensor(x).float(), torch.as_tensor(y).float()
    result = calibrate(*single, gram_cka, K=99, alpha=0.05, perm_fn=Fed(permutations))
    return {
        "x": x.tolist(),
        "y": y.tolist(),
        "groups": groups.tolist(),
        "permutations": [index.tolist() for index in permutations],
        **numbers(result),
    }


def main() -> None:
    torch.set_num_threads(1)
    document = {
        "made_with": {"calibrated-similarity": calibrated_similarity.__version__, "torch": torch.__version__},
        "scalar": [
            scalar_case("related", "cka", 1, 20, 0.4, 99),
            scalar_case("unrelated", "cka", 2, 20, 30.0, 59),
            scalar_case("related", "tsi", 3, 14, 0.4, 99),
            scalar_case("unrelated", "tsi", 4, 14, 30.0, 59),
        ],
        "layers": [
            layer_case("related", "cka", 5, 16, 0.5, 39),
            layer_case("unrelated", "tsi", 6, 12, 30.0, 39),
        ],
        # float32 p-values and statistics, and comparisons with NaN.
        "mistaken": {
            "one_in_twenty": prescribed(0.9, [0.1] * 19),
            "observed_is_nan": prescribed(math.nan, [0.1] * 19),
            "null_has_nan": prescribed(0.5, [math.nan, *[0.6] * 18]),
            "near_one": prescribed(1 - 1e-9, [1 - 2e-9] * 19),
            "duplicates_single": duplicates(),
        },
    }
    mistaken = document["mistaken"]
    for name in ("observed_is_nan", "null_has_nan"):  # JSON has no NaN
        mistaken[name] = {key: None if math.isnan(value) else value for key, value in mistaken[name].items()}
    path = Path(__file__).parent / "package.json"
    path.write_text(json.dumps(document, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
