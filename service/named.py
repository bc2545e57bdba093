"""Parts of an answer: mappings, the JSON of the contract, with names for what is used most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Named(Mapping[str, Any]):
    """Part of an answer of the service, untouched: `json`, and everything in it by ``[]``."""

    json: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.json[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.json)

    def __len__(self) -> int:
        return len(self.json)


class Calibration(Named):
    """How a score stands against permutations of rows; all figures are None where there is no test, see `reason`."""

    @property
    def p_value(self) -> float | None:
        """The p-value; never 0."""
        return self.json.get("pValue")

    @property
    def threshold(self) -> float | None:
        """What a score must pass at the level `alpha`."""
        return self.json.get("threshold")

    @property
    def score(self) -> float | None:
        """The calibrated score: 0 up to the threshold, 1 at ``smax``."""
        return self.json.get("score")

    @property
    def permutations(self) -> int | None:
        """How many permutations were made."""
        return self.json.get("permutations")

    @property
    def reason(self) -> str | None:
        """Why there is no p-value."""
        return self.json.get("reason")


class Best(Named):
    """The pair of layers with the largest score."""

    @property
    def x(self) -> int:
        """Position of the layer of x, from 0."""
        return int(self.json["x"])

    @property
    def y(self) -> int:
        """Position of the layer of y, from 0."""
        return int(self.json["y"])

    @property
    def score(self) -> float:
        """Their score."""
        return float(self.json["score"])


class Difference(Named):
    """How much more alike x is to one array than to the reference."""

    @property
    def array(self) -> int:
        """Position of the array, from 0."""
        return int(self.json["array"])

    @property
    def difference(self) -> float:
        """The difference of the two scores."""
        return float(self.json["difference"])

    @property
    def p_value(self) -> float | None:
        """Of no difference in the population; None without a jackknife."""
        return self.json.get("pValue")

    def interval(self, kind: str = "sampling") -> tuple[float, float] | None:
        """Low and high end of an interval, ``"sampling"`` or ``"jackknife"``; None where there is none."""
        found = self.json.get(kind)
        return (found["low"], found["high"]) if found else None
