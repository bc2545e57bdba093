"""The picture of `perturbation_curve.py`: how small a deficit can be before subtraction loses it.

    python tests/bench/perturbation_picture.py [FILE]

Needs the extra `bench`. Writes deploy/docs/perturbation.svg unless told otherwise.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")

import perturbation_curve
from matplotlib import pyplot as plt

OUTPUT = Path(__file__).resolve().parents[2] / "deploy" / "docs" / "perturbation.svg"
FORMS = {"direct": ("tab:blue", "formed directly"), "subtracted": ("tab:red", "1 - score")}
NEVER = 1e-17
"""Stands for a relative error of 0 on a logarithmic axis."""


def draw(document: dict[str, Any], output: Path) -> None:
    """Draw the relative errors of both types side by side."""
    plt.rcParams |= {"svg.hashsalt": "perturbation", "font.size": 9}
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
    for axis, (dtype, points) in zip(axes, document["curves"].items(), strict=True):
        for form, (colour, label) in FORMS.items():
            known = [point for point in points if point[f"{form}Error"] is not None]
            sizes = [point["size"] for point in known]
            errors = [max(point[f"{form}Error"], NEVER) for point in known]
            axis.loglog(sizes, errors, "o-", color=colour, markersize=3, label=label)
        axis.set(title=f"{dtype} arrays", xlabel="size of the difference between the arrays")
        axis.invert_xaxis()
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("relative error of the deficit")
    axes[0].legend(frameon=False)
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, metadata={"Date": None})


if __name__ == "__main__":
    draw(perturbation_curve.document(), Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT)
