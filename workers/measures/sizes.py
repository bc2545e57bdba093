"""Fields that say how much is drawn."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

DRAWS_LIMIT = 10**12
UNITS_LIMIT = 10**8
"""For its intervals the service takes 56 bytes of memory a unit when a job is finished, 8 of them from the first shard
on; a job that draws until an interval is narrow keeps no more than a tally."""
MEMBERS_LIMIT = 1024

NARROWEST = 1e-5
"""Of single comparisons these take up to 9 10^11, just within `DRAWS_LIMIT`."""

Probability = Annotated[float, Field(gt=0, lt=1, strict=True, allow_inf_nan=False)]
Width = Annotated[float, Field(ge=NARROWEST, le=1, strict=True, allow_inf_nan=False)]
Draws = Annotated[int, Field(ge=1, le=DRAWS_LIMIT, strict=True)]
Units = Annotated[int, Field(ge=2, le=UNITS_LIMIT, strict=True)]
Members = Annotated[int, Field(ge=2, le=MEMBERS_LIMIT, strict=True)]


def _boolean(sent: object) -> object:
    if not isinstance(sent, bool):  # 0 equals False, and would be taken for it
        raise ValueError(f"{sent!r} is not a boolean")
    return sent


Never = Annotated[Literal[False], BeforeValidator(_boolean)]
"""A switch that other methods have, and that can only be off here."""
