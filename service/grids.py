"""Requests of the processes that compare many arrays: layers with layers, or all models with one another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator

from ordsim_core.calibration.aggregates import Kind as Aggregate
from service.entries import MeasureEntry
from service.fields import Array, Closed, Identifiers, Named
from service.schemas import Request, worker_options
from workers.measures import matrices, permuted
from workers.references import Reference

if TYPE_CHECKING:
    from workers.measures.protocol import Measure, MeasureOptions

LAYERS_LIMIT = 128
ARRAYS_LIMIT = 256

LAYERS_EXAMPLE: dict[str, JsonValue] = {
    "process": "layers",
    "x": {"layers": [{"root": "lab", "path": "minilm/layer3"}, {"root": "lab", "path": "minilm/layer6"}]},
    "y": {"layers": [{"root": "lab", "path": "para/layer3"}]},
    "measure": {"measure": "tsi", "method": "units", "units": 4096},
    "aggregate": "max",
    "calibration": {"permutations": 200},
}
MATRIX_EXAMPLE: dict[str, JsonValue] = {
    "process": "matrix",
    "arrays": [{"root": "lab", "path": f"minilm/layer{layer}"} for layer in (3, 6)],
    "measure": {"measure": "tsi", "method": "units", "units": 4096},
    "calibration": {"permutations": 200},
}


class Layers(Closed):
    """Arrays of the layers of one model, over the same rows."""

    layers: list[Array] = Field(min_length=1, max_length=LAYERS_LIMIT)


class LayersRequest(Request):
    """Compare every layer of one model with every layer of another."""

    model_config = ConfigDict(json_schema_extra={"examples": [LAYERS_EXAMPLE]})

    process: Literal["layers"]
    x: Layers
    y: Layers
    measure: MeasureEntry
    aggregate: Aggregate = Field(
        default="max",
        description="What is calibrated: the best pair; the mean; the best of y for each of x, on average; the best of "
        "x for each of y, on average.",
    )
    ids: Identifiers | None = Field(default=None, description="Row identifiers of all layers of x, and of all of y.")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if getattr(self.measure, "width", None) is not None:
            raise ValueError("measure: all pairs share one design, so send how many are drawn instead of a width")
        if getattr(self.measure, "per_anchor", False):
            raise ValueError("measure: scores of single rows are given by the process compare")
        return self

    def arrays(self) -> dict[str, Array]:
        """Layers of x, then of y."""
        return {
            f"{side}/layers/{place}": array
            for side, layers in (("x", self.x), ("y", self.y))
            for place, array in enumerate(layers.layers)
        }

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Layers of x and of y."""
        x, y = (tuple(name for name in self.arrays() if name.startswith(side)) for side in ("x", "y"))
        return x, y

    def identifiers_of(self, name: str) -> Reference | None:
        """Where the identifiers of one layer's rows are; None if the request has none."""
        if self.ids is None:
            return None
        named = self.ids.x if name.startswith("x") else self.ids.y
        return Reference(named.root, named.path, self.window(name))

    def options(self) -> list[tuple[Measure, MeasureOptions]]:
        """All pairs of layers, observed and permuted, are one entry."""
        _, inner = worker_options(self.measure)
        options = permuted.PermutedOptions(
            inner=inner,
            calibration=self.calibration,
            layers=(len(self.x.layers), len(self.y.layers)),
            aggregate=self.aggregate,
        )
        return [(permuted.PERMUTED, options)]

    def works(self) -> list[tuple[Measure, MeasureOptions]]:
        """The same: the calibration is part of it."""
        return self.options()

    def pointer(self, position: int) -> str:  # noqa: ARG002
        """The measure."""
        return "/measure"


class Differences(Closed):
    """Differences of scores with one array: score(x, A) - score(x, reference) for every other A."""

    x: int = Field(ge=0, strict=True, description="Position of the array that all others are compared with.")
    reference: int = Field(ge=0, strict=True, description="Position of the array whose score is taken off.")

    @model_validator(mode="after")
    def _two(self) -> Self:
        if self.x == self.reference:
            raise ValueError("x and reference must be different arrays")
        return self


class MatrixRequest(Request):
    """Compare all of several arrays with one another."""

    model_config = ConfigDict(json_schema_extra={"examples": [MATRIX_EXAMPLE]})

    process: Literal["matrix"]
    every: list[Array] = Field(alias="arrays", min_length=2, max_length=ARRAYS_LIMIT)
    measure: MeasureEntry
    differences: Differences | None = None
    ids: list[Named] | None = Field(default=None, description="Row identifiers, of each array in their order.")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if (self.measure.measure not in ("tsi", "qsi")) or self.measure.method not in ("sampled", "units"):
            raise ValueError("measure must be tsi or qsi, by the method sampled or units")
        if getattr(self.measure, "width", None) is not None:
            raise ValueError("measure: a width is not known beforehand; all arrays share one design, so send how many")
        if self.calibration is not None and self.calibration.early_stop is not None:
            raise ValueError("calibration.early_stop: the pairs share permutations, and would each stop at another")
        if self.ids is not None and len(self.ids) != len(self.every):
            raise ValueError(f"ids: there are {len(self.every)} arrays and {len(self.ids)} arrays of identifiers")
        if self.differences is not None:
            for name in ("x", "reference"):
                if getattr(self.differences, name) >= len(self.every):
                    raise ValueError(f"differences.{name} is the position of an array, 0 to {len(self.every) - 1}")
            if len(self.every) < 3:
                raise ValueError("differences need a third array, whose score is compared with the reference's")
        return self

    def arrays(self) -> dict[str, Array]:
        """By position."""
        return {f"arrays/{place}": array for place, array in enumerate(self.every)}

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Every array stands on both sides."""
        names = tuple(self.arrays())
        return names, names

    def identifiers_of(self, name: str) -> Reference | None:
        """Where the identifiers of one array's rows are; None if the request has none."""
        place = int(name.rpartition("/")[2])
        if self.ids is None or place >= len(self.ids):
            return None
        named = self.ids[place]
        return Reference(named.root, named.path, self.window(name))

    def options(self) -> list[tuple[Measure, MeasureOptions]]:
        """The scores of all pairs are one entry."""
        _, inner = worker_options(self.measure)
        wanted = self.differences
        options = matrices.MatrixOptions(
            inner=inner,
            arrays=len(self.every),
            difference=None if wanted is None else (wanted.x, wanted.reference),
            confidence=self.confidence_of(inner),
        )
        return [(matrices.MATRIX, options)]

    def _permuted(self, options: MeasureOptions) -> MeasureOptions:
        assert isinstance(options, matrices.MatrixOptions)
        number = len(self.every)
        return permuted.PermutedOptions(
            inner=options.inner, calibration=self.calibration, layers=(number, number), pairs=True
        )

    def pointer(self, position: int) -> str:  # noqa: ARG002
        """The measure."""
        return "/measure"
