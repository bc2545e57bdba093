"""Entries of ``measures`` in a request: one model for each measure that the registry knows."""

from __future__ import annotations

import operator
from functools import reduce
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Discriminator, Tag, create_model

from service.explaining import TAG
from workers.measures import registry
from workers.measures.protocol import MeasureOptions

if TYPE_CHECKING:
    from workers.measures.protocol import Measure

DEFAULT_METHODS = {measure.measure: measure.method for measure in registry.all_measures() if measure.default}
"""The method of a measure that was sent without one."""

CHOSEN_BY = {measure.measure: measure.chosen_by for measure in registry.all_measures()}
"""The field of an entry that says which of a measure's methods is meant."""


def _options(measure: Measure) -> Any:
    """A measure's options as the service takes them: with its method, where that need not be said."""
    options: Any = measure.options
    if measure.default or measure.chosen_by != "method":
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
    if not isinstance(measure, str):
        return _tag(measure, sent.get("method"))
    said = sent.get(CHOSEN_BY.get(measure, "method"), sent.get("method"))
    return _tag(measure, DEFAULT_METHODS.get(measure) if said is None else said)


if TYPE_CHECKING:
    MeasureEntry = MeasureOptions
else:
    # Made from the registry: a measure that is added there can be asked for here.
    MeasureEntry = Annotated[
        reduce(operator.or_, [_options(measure) for measure in registry.all_measures()]),
        Discriminator(_discriminate),
    ]
