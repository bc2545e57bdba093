"""What a client may ask for: strict, closed models of the request bodies."""

from __future__ import annotations

import hashlib
import json
import operator
from functools import reduce
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    StringConstraints,
    Tag,
    create_model,
    model_validator,
)

from ordsim_core.distances import Distance, Precision
from service.explaining import TAG
from workers.measures import registry
from workers.measures.protocol import MeasureOptions
from workers.references import Reference, RowRange
from workers.tasks import Side

if TYPE_CHECKING:
    from workers.measures.protocol import Measure

DEFAULT_CONFIDENCE = 0.99
DEFAULT_METHODS = {"tsi": "exact"}
"""The method of a measure that was sent without one."""

MEASURES_LIMIT = 32
SEED_LIMIT = 2**63
ROW_LIMIT = 2**53
LARGEST_CONFIDENCE = 1 - 2**-53
"""The largest float below 1: an interval at confidence 1 would be no interval."""


class Closed(BaseModel):
    """Base of the request's models: a field that nobody knows is a mistake, and no field is guessed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Rows(Closed):
    """Rows start <= r < stop."""

    start: int = Field(ge=0, lt=ROW_LIMIT, strict=True)
    stop: int = Field(ge=1, le=ROW_LIMIT, strict=True)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.stop <= self.start:
            raise ValueError(f"stop must be larger than start, but {self.stop} is not larger than {self.start}")
        return self

    def range(self) -> RowRange:
        """The same in the workers' form."""
        return RowRange(self.start, self.stop)


class Named(Closed):
    """An array: the name of a root that the operator configured, and a path below it."""

    root: str = Field(max_length=64, examples=["lab"])
    path: str = Field(max_length=1024, examples=["minilm/layer6"])


class Array(Named):
    """An array of one embedding per row, and how distance is measured in it."""

    distance: Distance = Distance.EUCLIDEAN
    rows: Rows | None = None


class Identifiers(Closed):
    """One-dimensional arrays of row identifiers, integers or strings, one for each row of x and of y."""

    x: Named
    y: Named


def _options(measure: Measure) -> Any:
    """A measure's options as the service takes them: with the default method, where there is one."""
    options: Any = measure.options
    if DEFAULT_METHODS.get(measure.measure) == measure.method:
        literal: Any = Literal[measure.method]
        options = create_model(
            options.__name__, __base__=options, __doc__=options.__doc__, method=(literal, measure.method)
        )
    return Annotated[options, Tag(_tag(measure.measure, measure.method))]


def _tag(measure: object, method: object) -> str:
    return f"{measure}{TAG}{method}"


def _discriminate(sent: Any) -> str | None:
    """Name the options that an entry of ``measures`` is to be read as."""
    if isinstance(sent, MeasureOptions):
        return _tag(sent.measure, sent.method)
    if not isinstance(sent, dict) or "measure" not in sent:
        return None
    measure = sent["measure"]
    default = DEFAULT_METHODS.get(measure) if isinstance(measure, str) else None
    return _tag(measure, sent.get("method", default))


if TYPE_CHECKING:
    MeasureEntry = MeasureOptions
else:
    # Made from the registry: a measure that is added there can be asked for here.
    MeasureEntry = Annotated[
        reduce(operator.or_, [_options(measure) for measure in registry.all_measures()]),
        Discriminator(_discriminate),
    ]

TagKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
TagValue = Annotated[str, StringConstraints(max_length=256)]

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


class JobRequest(Closed):
    """Compare two arrays of embeddings of the same inputs, row by row."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    process: Literal["compare"]
    x: Array
    y: Array
    measures: list[MeasureEntry] = Field(min_length=1, max_length=MEASURES_LIMIT)
    rows: Rows | None = Field(
        default=None,
        description="The same rows of both arrays, which must have equal row counts. Rows of one array go into its "
        "own reference; not both at once.",
    )
    ids: Identifiers | None = Field(default=None, description="Row identifiers, to show that rows belong together.")
    groups: Named | None = Field(
        default=None,
        description="A one-dimensional array of labels, integers or strings, that say which rows belong together: one "
        "for each stored row, or, where rows are selected in a reference, one for each compared row.",
    )
    align: Literal["check"] = Field(default="check", description="With ids: they must be equal, in order.")
    on_non_finite: Literal["error"] = "error"
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
        lt=1,
        strict=True,
        allow_inf_nan=False,
        description="Of every interval. A measure with delta has 1 - delta where this is not sent.",
    )
    seed: int = Field(default=0, ge=0, lt=SEED_LIMIT, strict=True)
    label: str | None = Field(default=None, max_length=256)
    tags: dict[TagKey, TagValue] = Field(default_factory=dict, max_length=32)

    @model_validator(mode="after")
    def _rows_once(self) -> Self:
        if self.rows is not None and (self.x.rows is not None or self.y.rows is not None):
            raise ValueError("rows stand at the top or in a reference, not in both")
        return self

    def as_sent(self) -> dict[str, Any]:
        """Return the request as JSON values, without the defaults: what was not sent has a meaning of its own."""
        return self.model_dump(mode="json", exclude_unset=True)

    def digest(self) -> str:
        """Return a hash of what was asked, the same for any order of fields and any white space."""
        canonical = json.dumps(self.as_sent(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def rows_of(self, name: Literal["x", "y"]) -> Rows | None:
        """The rows of one array that are compared, wherever the request says so; None for all."""
        return (self.x if name == "x" else self.y).rows or self.rows

    def side(self, name: Literal["x", "y"]) -> Side:
        """One array in the workers' form; rows at the top are rows of both references."""
        array = self.x if name == "x" else self.y
        rows = self.rows_of(name)
        wanted = rows.range() if rows else None
        # Distances between the selected rows stand in the columns of the same numbers.
        columns = wanted if array.distance is Distance.PRECOMPUTED else None
        return Side(
            reference=Reference(array.root, array.path, wanted, columns),
            distance=array.distance,
            missing_chunks=self.missing_chunks,
            precision=Precision(self.precision),
        )

    def identifiers_of(self, name: Literal["x", "y"]) -> Reference | None:
        """Where the identifiers of one array's compared rows are; None if the request has none."""
        if self.ids is None:
            return None
        named = self.ids.x if name == "x" else self.ids.y
        rows = self.rows_of(name)
        return Reference(named.root, named.path, rows.range() if rows else None)

    def groups_of_rows(self, compared: int | None = None) -> Reference | None:
        """Where the labels of the compared rows are; None if the request has none.

        Rows of a reference are rows of that array alone: the labels are then those of the compared rows. If it is said
        how many these are, the reference says outright which labels are meant.
        """
        if self.groups is None:
            return None
        rows = self.rows.range() if self.rows else None
        if rows is None and compared is not None:
            rows = RowRange(0, compared)
        return Reference(self.groups.root, self.groups.path, rows)

    def options(self) -> list[tuple[Measure, MeasureOptions]]:
        """Each entry of ``measures`` with its measure, in the class that workers can import."""
        found = []
        for entry in self.measures:
            measure = registry.find(entry.measure, entry.method)
            found.append((measure, measure.options.model_validate(entry.model_dump())))
        return found

    def confidence_of(self, options: MeasureOptions) -> float:
        """Confidence of a measure's intervals: as sent, else by its delta, else the default."""
        delta = getattr(options, "delta", None)
        if "confidence" in self.model_fields_set or delta is None:
            return self.confidence
        return min(1 - float(delta), LARGEST_CONFIDENCE)
