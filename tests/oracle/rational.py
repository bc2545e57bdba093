"""Exact answers in plain Python integers: every finite float and every integer is a fraction.

Imports nothing that it is used to check. Sets of rows and of pairs of rows are bit masks, so that a small case takes
milliseconds; `kind` and the two functions after it are the definitions, and count nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import comb, gcd
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Row = list[int]
Rows = Sequence[Sequence[Any]]
Pair = tuple[int, int]
Counts = tuple[int, int, int, int, int]
"""Concordant, discordant, tied in x only, in y only, in both."""


class Triplets(NamedTuple):
    """Counts over all (anchor, {j, k}), and the agreeing ones by anchor and by target, two of which each has."""

    counts: Counts
    agreeing: list[int]
    targets: list[int]


class Ranked:
    """Rows with a distance: `rank[i][j]` is the dense rank of the exact distance among all pairs of rows."""

    def __init__(self, rows: Rows, distance: str) -> None:
        keys = pair_keys(integers(rows), distance, list(combinations(range(len(rows)), 2)))
        place = {key: number for number, key in enumerate(sorted(set(keys.values())))}
        self.size = len(rows)
        self.rank = [[-1] * len(rows) for _ in rows]
        for (i, j), key in keys.items():
            self.rank[i][j] = self.rank[j][i] = place[key]


def integers(rows: Rows) -> list[Row]:
    """All values times the least power of two that makes integers of them, which leaves every order as it is."""
    ratios = [[value.as_integer_ratio() for value in row] for row in rows]
    unit = max((denominator for row in ratios for _, denominator in row), default=1)
    return [[numerator * (unit // denominator) for numerator, denominator in row] for row in ratios]


SUMS: dict[str, Callable[[int, int], int]] = {
    "euclidean": lambda a, b: (a - b) ** 2,
    "dot": lambda a, b: -a * b,
    "manhattan": lambda a, b: abs(a - b),
    "hamming": lambda a, b: a != b,
}


def pair_keys(rows: list[Row], distance: str, pairs: list[Pair]) -> dict[Pair, int]:
    """An integer for each pair of rows, in the order of the distances. ZeroDivisionError for an angle to zero."""
    if distance == "correlation":
        # As far as cosines go, D times a centred row.
        return cosine_keys([[len(row) * value - sum(row) for value in row] for row in rows], pairs)
    if distance == "cosine":
        return cosine_keys(rows, pairs)
    if distance == "precomputed":
        return {(i, j): rows[i][j] for i, j in pairs}
    return {(i, j): sum(map(SUMS[distance], rows[i], rows[j])) for i, j in pairs}


def cosine_keys(rows: list[Row], pairs: list[Pair]) -> dict[Pair, int]:
    """Minus the signed squares of the cosines, g |g| / (n_i n_j), as integers that keep all of them apart."""
    shortest = [[value // divisor for value in row] for row in rows for divisor in [gcd(*row)]]
    norms = [sum(value * value for value in row) for row in shortest]
    # Fractions with denominators below b that differ do so by 1/b^2 or more: times b^2, by a whole step.
    bits = 4 * max(norm.bit_length() for norm in norms)
    keys = {}
    for i, j in pairs:
        product = sum(a * b for a, b in zip(shortest[i], shortest[j], strict=True))
        keys[i, j] = (-product * abs(product) << bits) // (norms[i] * norms[j])
    return keys


def sign(number: int) -> int:
    return (number > 0) - (number < 0)


def kind(in_x: int, in_y: int) -> int:
    """Which of the five counts a comparison with these signs goes to."""
    if in_x == 0:
        return 4 if in_y == 0 else 2
    if in_y == 0:
        return 3
    return 0 if in_x == in_y else 1


def triplet_kind(x: Ranked, y: Ranked, i: int, j: int, k: int) -> int:
    return quadruplet_kind(x, y, i, j, i, k)


def quadruplet_kind(x: Ranked, y: Ranked, i: int, j: int, k: int, m: int) -> int:
    return kind(*(sign(side.rank[i][j] - side.rank[k][m]) for side in (x, y)))


def tally(kinds: Iterable[int]) -> Counts:
    found = Counter(kinds)
    return tuple(found[number] for number in range(5))


def triplet_unit(x: Ranked, y: Ranked, anchor: int, *targets: int) -> Counts:
    """All comparisons of one anchor with two of these targets."""
    return tally(triplet_kind(x, y, anchor, j, k) for j, k in combinations(targets, 2))


def quadruplet_unit(x: Ranked, y: Ranked, *rows: int) -> Counts:
    """All comparisons of two of the pairs (first, second), (third, fourth), ... of rows."""
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return tally(quadruplet_kind(x, y, *one, *other) for one, other in combinations(pairs, 2))


def order(keys: Sequence[int]) -> list[tuple[int, int]]:
    """For each element the mask of those with a smaller key, and of those with an equal one."""
    equal: dict[int, int] = {}
    for element, key in enumerate(keys):
        equal[key] = equal.get(key, 0) | 1 << element
    below, masks = 0, {}
    for key in sorted(equal):
        masks[key] = below, equal[key]
        below |= equal[key]
    return [masks[key] for key in keys]


def compare(x_keys: Sequence[int], y_keys: Sequence[int], partners: Iterable[int]) -> tuple[Counts, list[int]]:
    """Compare each element with its partners, a mask that does not hold itself: counts, and agreeing by element."""
    doubled = [0] * 5
    agreeing = []
    for (x_less, x_same), (y_less, y_same), others in zip(order(x_keys), order(y_keys), partners, strict=True):
        x_more, y_more = ~(x_less | x_same), ~(y_less | y_same)
        kinds = (
            x_less & y_less | x_more & y_more,
            x_less & y_more | x_more & y_less,
            x_same & ~y_same,
            y_same & ~x_same,
            x_same & y_same,
        )
        own = [(mask & others).bit_count() for mask in kinds]
        agreeing.append(own[0] + own[4])
        doubled = [a + b for a, b in zip(doubled, own, strict=True)]
    return tuple(count // 2 for count in doubled), agreeing


def compare_targets(anchor: int, x_keys: Sequence[int], y_keys: Sequence[int]) -> Triplets:
    """Compare all pairs of targets of one anchor, given its key to every row; that to itself is not looked at."""
    everyone = (1 << len(x_keys)) - 1
    partners = (0 if row == anchor else everyone & ~(1 << anchor | 1 << row) for row in range(len(x_keys)))
    counts, targets = compare(x_keys, y_keys, partners)
    return Triplets(counts, [sum(targets) // 2], targets)


def triplets(x: Ranked, y: Ranked) -> Triplets:
    """Compare all pairs of targets of every anchor."""
    own = [compare_targets(row, x.rank[row], y.rank[row]) for row in range(x.size)]
    counts, targets = (
        [sum(column) for column in zip(*rows, strict=True)] for rows in list(zip(*own, strict=True))[::2]
    )
    return Triplets(tuple(counts), [agreeing for one in own for agreeing in one.agreeing], targets)


def anchor_triplets(x: Rows, y: Rows, x_distance: str, y_distance: str, anchor: int) -> Triplets:
    """Compare all pairs of targets of one anchor, where there are too many rows for all pairs of them."""
    pairs = [(anchor, row) for row in range(len(x))]
    sides = (pair_keys(integers(rows), distance, pairs) for rows, distance in ((x, x_distance), (y, y_distance)))
    return compare_targets(anchor, *([keys[pair] for pair in pairs] for keys in sides))


def quadruplets(x: Ranked, y: Ranked) -> Counts:
    """Compare all pairs of rows with all pairs that share no row with them."""
    pairs = list(combinations(range(x.size), 2))
    with_row = [sum(1 << number for number, pair in enumerate(pairs) if row in pair) for row in range(x.size)]
    everything = (1 << len(pairs)) - 1
    partners = (everything & ~(with_row[i] | with_row[j]) for i, j in pairs)
    return compare(*([side.rank[i][j] for i, j in pairs] for side in (x, y)), partners)[0]


def score(counts: Counts) -> Fraction:
    return Fraction(counts[0] + counts[4], sum(counts))


def binomial_upper_tail(successes: int, trials: int, probability: Fraction) -> Fraction:
    """Probability of at least `successes`."""
    return sum(
        (comb(trials, k) * probability**k * (1 - probability) ** (trials - k) for k in range(successes, trials + 1)),
        Fraction(0),
    )
