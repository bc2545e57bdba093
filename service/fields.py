"""Parts of the request bodies that all processes share: strict, closed models."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from ordsim_core.distances import Distance
from workers.references import RowRange

MEASURES_LIMIT = 32
SEED_LIMIT = 2**63
ROW_LIMIT = 2**53
LARGEST_CONFIDENCE = 1 - 2**-52
"""The largest whose half way to 1, at which intervals within intervals are computed, is not 1."""


class Closed(BaseModel):
    """Base of the request's models: a field that nobody knows is a mistake, and no field is guessed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Named(Closed):
    """An array: the name of a root that the operator configured, and a path below it."""

    root: str = Field(max_length=64, examples=["lab"])
    path: str = Field(max_length=1024, examples=["minilm/layer6"])


class Rows(Closed):
    """Rows start <= r < stop, or those that an array of integers names, in its order."""

    start: int | None = Field(default=None, ge=0, lt=ROW_LIMIT, strict=True)
    stop: int | None = Field(default=None, ge=1, le=ROW_LIMIT, strict=True)
    index: Named | None = Field(default=None, description="A one-dimensional array of row numbers from 0, each once.")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.start is None) != (self.stop is None) or (self.start is None) == (self.index is None):
            raise ValueError("rows are start and stop, or index")
        if self.start is not None and self.stop is not None and self.stop <= self.start:
            raise ValueError(f"stop must be larger than start, but {self.stop} is not larger than {self.start}")
        return self

    def range(self) -> RowRange | None:
        """The range in the workers' form, if it is one."""
        return None if self.start is None or self.stop is None else RowRange(self.start, self.stop)


class Array(Named):
    """An array of one embedding per row, and how distance is measured in it."""

    distance: Distance = Distance.EUCLIDEAN
    rows: Rows | None = None


class Identifiers(Closed):
    """One-dimensional arrays of row identifiers, integers or strings, one for each row of x and of y."""

    x: Named
    y: Named


TagKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
TagValue = Annotated[str, StringConstraints(max_length=256)]
