"""Measures of other packages: what they offer under the entry point group `ordsim.measures`, if it is usable.

Nothing that such a package does wrong keeps ordsim from starting: what cannot be used is left out, and the reason kept.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from workers.errors import writable
from workers.measures.protocol import Measure, MeasureOptions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from importlib.metadata import EntryPoint

GROUP = "ordsim.measures"
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")

log = logging.getLogger(__name__)


class UnusableError(Exception):
    """A plug-in cannot be used; says why."""


@dataclass(frozen=True)
class Plugin:
    """One entry point: its distribution, and its measures, or why there are none.

    Attributes
    ----------
    name, distribution, version : str
        Of the entry point, and of the package that it came with.
    measures : tuple of Measure
        Empty if refused.
    refused : str or None
        What is wrong with it.
    """

    name: str
    distribution: str
    version: str
    measures: tuple[Measure, ...] = ()
    refused: str | None = None


def load(taken: Collection[str]) -> tuple[Plugin, ...]:
    """Load all plug-ins that are installed, in the order of their names.

    Parameters
    ----------
    taken : collection of str
        Names of measures that plug-ins may not have.
    """
    names = set(taken)
    plugins = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        plugin = _load(entry, names)
        if plugin.refused is not None:
            log.warning("the measures of %s %s are left out: %s", plugin.distribution, plugin.version, plugin.refused)
        names |= {measure.measure for measure in plugin.measures}
        plugins.append(plugin)
    return tuple(plugins)


def differences(own: Collection[str], others: Mapping[str, Collection[str]]) -> list[str]:
    """Describe where the plug-ins of workers, by their place, are not those of this process; see `describe`."""
    return [
        f"the plug-in measures at {place} are {', '.join(theirs) or 'none'} but {', '.join(own) or 'none'} here"
        for place, theirs in others.items()
        if set(theirs) != set(own)
    ]


def describe(plugins: Iterable[Plugin]) -> list[str]:
    """Name usable plug-ins with what must be equal everywhere: distribution, version and measures."""
    return sorted(
        f"{plugin.distribution} {plugin.version} ({measure.measure} {measure.method})"
        for plugin in plugins
        for measure in plugin.measures
    )


def _load(entry: EntryPoint, taken: Collection[str]) -> Plugin:
    distribution, version = (entry.dist.name, entry.dist.version) if entry.dist else ("unknown", "0")
    try:
        measures = _measures(entry.load())
        for measure in measures:
            _check(measure, taken)
    except UnusableError as error:
        return Plugin(entry.name, distribution, version, refused=writable(str(error)))
    except (Exception, SystemExit) as error:
        # Another's code may raise anything.
        reason = f"{entry.value} cannot be loaded: {type(error).__name__}: {error}"
        return Plugin(entry.name, distribution, version, refused=writable(reason))
    return Plugin(entry.name, distribution, version, measures)


def _measures(found: Any) -> tuple[Measure, ...]:
    """Take a measure, a class of one, or several of either."""
    several = found if isinstance(found, list | tuple) else [found]
    measures = tuple(one() if isinstance(one, type) else one for one in several)
    for measure in measures:
        if Measure not in type(measure).__mro__:  # it is a protocol, which isinstance does not take
            raise UnusableError(f"{measure!r} does not inherit from {Measure.__module__}.{Measure.__name__}")
    if not measures:
        raise UnusableError("it offers no measure")
    return measures


def _check(measure: Measure, taken: Collection[str]) -> None:
    for word in (measure.measure, measure.method):
        if not isinstance(word, str) or not NAME.fullmatch(word):
            raise UnusableError(f"{word!r} is no name: small letters, digits and underscores, 40 at most")
    if measure.measure in taken:
        raise UnusableError(f"there is a measure {measure.measure!r} already: choose another name")
    if not (isinstance(measure.options, type) and issubclass(measure.options, MeasureOptions)):
        raise UnusableError(f"the options of {measure.measure} do not inherit from {MeasureOptions.__name__}")
    schema = measure.options.model_json_schema()["properties"]
    for field, said in (("measure", measure.measure), ("method", measure.method)):
        if schema[field].get("const") != said:
            raise UnusableError(f"the options of {measure.measure} must have {field}: Literal[{said!r}]")
