"""What a client may ask for: strict, closed models of the request bodies."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator

from ordsim_core.distances import Distance, Precision
from service.entries import DEFAULT_METHODS, MeasureEntry
from service.fields import (
    LARGEST_CONFIDENCE,
    MEASURES_LIMIT,
    SEED_LIMIT,
    Array,
    Closed,
    Identifiers,
    Named,
    Rows,
    TagKey,
    TagValue,
)
from workers.groups import Labels
from workers.measures import permuted, registry
from workers.measures.calibration import Calibration
from workers.references import Reference, RowRange
from workers.selection import OnNonFinite
from workers.subjects import Side

if TYPE_CHECKING:
    from workers.measures.protocol import Measure, MeasureOptions

__all__ = ["DEFAULT_METHODS", "MEASURES_LIMIT", "SEED_LIMIT", "Array", "JobRequest", "Rows"]

DEFAULT_CONFIDENCE = 0.99

EXAMPLE: dict[str, JsonValue] = {
    "process": "compare",
    "x": {"root": "lab", "path": "minilm/layer6", "distance": "euclidean"},
    "y": {"root": "lab", "path": "minilm/layer3"},
    "measures": [
        {"measure": "tsi", "method": "exact", "per_anchor": True},
        {"measure": "qsi", "method": "sampled", "epsilon": 0.001, "delta": 0.01},
    ],
    "label": "layers 6 and 3",
    "tags": {"experiment": "e12"},
}


class Request(Closed):
    """What the requests of all processes have in common."""

    process: str

    rows: Rows | None = Field(
        default=None,
        description="The same rows of all arrays, which must have equal row counts. Rows of one array go into its "
        "own reference; not both at once.",
    )
    groups: Named | None = Field(
        default=None,
        description="A one-dimensional array of labels, integers or strings, that say which rows belong together: one "
        "for each stored row, or, where rows are selected in a reference, one for each compared row.",
    )
    align: Literal["check", "join"] = Field(
        default="check",
        description="With ids: they must be equal, in order; or rows are matched by them, in the order of the first "
        "array, and rows without a partner are left out.",
    )
    on_non_finite: OnNonFinite = Field(
        default="error",
        description="What to do about values that are not finite: refuse; leave out the rows that have such in any "
        "array; or leave out the columns that have such.",
    )
    missing_chunks: Literal["error", "fill"] = Field(
        default="error", description="What to do about chunks that are not stored: refuse, or take the fill value."
    )
    precision: Literal["exact", "float32"] = Field(
        default="exact",
        description="How distances are ordered: as exact arithmetic on the stored values would, where that can be had; "
        "or in float32, faster, with an interval for what rounding may have changed.",
    )
    confidence: float = Field(
        default=DEFAULT_CONFIDENCE,
        gt=0,
        le=LARGEST_CONFIDENCE,
        strict=True,
        allow_inf_nan=False,
        description="Of every interval. A measure with delta has 1 - delta where this is not sent.",
    )
    calibration: Calibration | None = Field(
        default=None, description="Also compare every score with those of permuted rows."
    )
    seed: int = Field(default=0, ge=0, lt=SEED_LIMIT, strict=True)
    reuse: bool = Field(
        default=True,
        strict=True,
        description="Answer with the results of a finished job that asked the same of the same data, if there is one.",
    )
    label: str | None = Field(default=None, max_length=256)
    tags: dict[TagKey, TagValue] = Field(default_factory=dict, max_length=32)

    @model_validator(mode="after")
    def _rows_once(self) -> Self:
        if self.rows is not None and any(array.rows is not None for array in self.arrays().values()):
            raise ValueError("rows stand at the top or in a reference, not in both")
        return self

    @model_validator(mode="after")
    def _meant(self) -> Self:
        arrays = self.arrays()
        if self.joins and all(self.identifiers_of(name) is None for name in arrays):
            raise ValueError("align: rows are joined by ids, and there are none")
        given = [name for name, array in arrays.items() if array.distance is Distance.PRECOMPUTED]
        if self.on_non_finite == "drop-columns" and given:
            raise ValueError(
                f"on_non_finite: the columns of {given[0]} are precomputed distances, whose columns are its rows; "
                "use drop"
            )
        return self

    @property
    def joins(self) -> bool:
        """Whether rows are matched by their identifiers."""
        return self.align == "join"

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """The arrays by their place in the request, e.g. "x" or "x/layers/0"."""

    @abstractmethod
    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the arrays that stand for x, and of those that stand for y."""

    @abstractmethod
    def options(self) -> list[tuple[Measure, MeasureOptions]]:
        """What the results will have an entry for."""

    def pointer(self, position: int) -> str:
        """Where in the request stands what has this place in `works`."""
        return f"/measures/{position}" if position < len(self.options()) else "/calibration"

    def works(self) -> list[tuple[Measure, MeasureOptions]]:
        """Everything that is cut into shards: the entries of the results, and after them their calibrations."""
        found = self.options()
        if self.calibration is None:
            return found
        return found + [(permuted.PERMUTED, self._permuted(options)) for _, options in found]

    def _permuted(self, options: MeasureOptions) -> MeasureOptions:
        assert self.calibration is not None
        return permuted.PermutedOptions(inner=options, calibration=self.calibration)

    def as_sent(self) -> dict[str, Any]:
        """Return the request as JSON values, without the defaults: what was not sent has a meaning of its own."""
        return self.model_dump(mode="json", exclude_unset=True, by_alias=True)

    def digest(self) -> str:
        """Return a hash of what was asked, the same for any order of fields and any white space."""
        canonical = json.dumps(self.as_sent(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def rows_of(self, name: str) -> Rows | None:
        """The rows of one array that are compared, wherever the request says so; None for all."""
        return self.arrays()[name].rows or self.rows

    def window(self, name: str) -> RowRange | None:
        """The range of one array that is read; None for all of it."""
        rows = self.rows_of(name)
        return rows.range() if rows else None

    def index_of(self, name: str) -> Reference | None:
        """Where the numbers of one array's rows are, if the request names rows so."""
        rows = self.rows_of(name)
        return Reference(rows.index.root, rows.index.path) if rows and rows.index else None

    def index_pointer(self, name: str) -> str:
        """Where in the request stand the rows of one array."""
        return "/rows" if self.rows is not None else f"/{name}/rows"

    def side(self, name: str) -> Side:
        """One array in the workers' form; rows at the top are rows of all references."""
        array = self.arrays()[name]
        wanted = self.window(name)
        # Distances between the selected rows stand in the columns of the same numbers.
        columns = wanted if array.distance is Distance.PRECOMPUTED else None
        return Side(
            reference=Reference(array.root, array.path, wanted, columns),
            distance=array.distance,
            missing_chunks=self.missing_chunks,
            precision=Precision(self.precision),
        )

    def identifiers_of(self, name: str) -> Reference | None:  # noqa: ARG002
        """Where the identifiers of one array's rows are; None if the request has none."""
        return None

    def labels(self, named: int | None = None) -> Labels | None:
        """Where the labels of the groups are; None if the request has none.

        Rows of a reference are rows of that array alone: the labels are then those of the rows that are named, unless
        rows are joined, whose labels are those of the stored rows of the first array. If it is said how many rows are
        named, the reference says outright which labels are meant.
        """
        if self.groups is None:
            return None
        first = self.names()[0][0]
        of_stored = self.joins or self.arrays()[first].rows is None
        rows = self.window(first) if of_stored else None
        if rows is None and named is not None and not (of_stored and self.index_of(first)):
            rows = RowRange(0, named)
        return Labels(Reference(self.groups.root, self.groups.path, rows), of_stored=of_stored)

    def confidence_of(self, options: MeasureOptions) -> float:
        """Confidence of a measure's intervals: as sent, else by its delta, else the default."""
        delta = getattr(options.innermost, "delta", None)
        if "confidence" in self.model_fields_set or delta is None:
            return self.confidence
        return min(1 - float(delta), LARGEST_CONFIDENCE)


class JobRequest(Request):
    """Compare two arrays of embeddings of the same inputs, row by row."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    process: Literal["compare"]
    x: Array
    y: Array
    measures: list[MeasureEntry] = Field(min_length=1, max_length=MEASURES_LIMIT)
    ids: Identifiers | None = Field(default=None, description="Row identifiers, to show that rows belong together.")

    def arrays(self) -> dict[str, Array]:
        """X and y."""
        return {"x": self.x, "y": self.y}

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """X and y."""
        return ("x",), ("y",)

    def identifiers_of(self, name: str) -> Reference | None:
        """Where the identifiers of one array's rows are; None if the request has none."""
        if self.ids is None:
            return None
        named = self.ids.x if name == "x" else self.ids.y
        return Reference(named.root, named.path, self.window(name))

    def options(self) -> list[tuple[Measure, MeasureOptions]]:
        """Each entry of ``measures`` with its measure, in the class that workers can import."""
        return [worker_options(entry) for entry in self.measures]


def worker_options(entry: MeasureOptions) -> tuple[Measure, MeasureOptions]:
    """Give an entry's measure, and its options in the class that workers can import."""
    measure = registry.find(entry.measure, entry.method)
    return measure, measure.options.model_validate(entry.model_dump())
