"""Small comparisons by brute force in numpy, for simulations. Imports nothing that it is used to check."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def agreement(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether (anchor, j, k) agree, by squared Euclidean distance; False where two of the three are one row."""
    sign_x, sign_y = (np.sign(d[:, :, None] - d[:, None, :]).astype(np.int8) for d in (_squared(x), _squared(y)))
    agree = sign_x == sign_y
    row = np.arange(len(x))
    agree[row, row, :] = agree[:, row, row] = agree[row, :, row] = False
    return agree


def by_role(agree: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Agreeing unordered comparisons of each row as anchor and as target."""
    return agree.sum((1, 2)) // 2, agree.sum((0, 2))


def _squared(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.square(rows[:, None, :] - rows[None, :, :]).sum(axis=2)


def different(groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether (anchor, j, k) are of three different groups."""
    apart = groups[:, None] != groups[None, :]
    return apart[:, :, None] & apart[:, None, :] & apart[None, :, :]


def most_misses(runs: int, probability: float, false_alarm: float = 1e-3) -> int:
    """Misses that as many runs exceed with a probability below `false_alarm`, if each misses with `probability`."""
    tail = 1.0
    for misses in range(runs + 1):
        tail -= math.exp(
            math.lgamma(runs + 1)
            - math.lgamma(misses + 1)
            - math.lgamma(runs - misses + 1)
            + misses * math.log(probability)
            + (runs - misses) * math.log1p(-probability)
        )
        if tail < false_alarm:
            return misses
    return runs


@dataclass(frozen=True)
class Population:
    """Rows of text, and of images of them; some texts are harder than others and have more images."""

    dimensions: int
    text_noise: float
    image_noise: float
    images: tuple[int, int]
    """Fewest and most images of a text."""

    def draw(self, random: np.random.Generator, texts: int) -> tuple[NDArray[np.float64], ...]:
        """Rows x and y, and the text of each."""
        text = random.normal(size=(texts, self.dimensions))
        hard = text[:, 0] > 0.5
        fewest, most = self.images
        size = np.where(hard, most, fewest)
        image = text + self.text_noise * np.where(hard, 2, 1)[:, None] * random.normal(size=text.shape)
        label = np.repeat(np.arange(texts), size)
        rows = image[label] + self.image_noise * random.normal(size=(len(label), self.dimensions))
        return text[label], rows, label

    @property
    def score(self) -> float:
        """Of rows of three different texts, each of which weighs as much as it has images."""
        random = np.random.default_rng(99)
        agreeing = total = 0.0
        for _ in range(20):
            parts = [self._one_image_each(random, 200_000) for _ in range(3)]
            weight = parts[0][2] * parts[1][2] * parts[2][2]
            nearer_x, nearer_y = (
                np.sign(
                    np.square(parts[0][side] - parts[1][side]).sum(axis=1)
                    - np.square(parts[0][side] - parts[2][side]).sum(axis=1)
                )
                for side in (0, 1)
            )
            agreeing += float(weight[nearer_x == nearer_y].sum())
            total += float(weight.sum())
        return agreeing / total

    def _one_image_each(self, random: np.random.Generator, texts: int) -> tuple[NDArray[np.float64], ...]:
        single = Population(self.dimensions, self.text_noise, self.image_noise, (1, 1))
        x, y, _ = single.draw(random, texts)
        fewest, most = self.images
        return x, y, np.where(x[:, 0] > 0.5, most, fewest)
