"""Every measure that this installation knows, by name and method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workers.measures import mutual_knn, plugins
from workers.measures.batched import BATCHED
from workers.measures.cca import CANONICAL
from workers.measures.cka_kernel import CKA_KERNELS
from workers.measures.cka_linear import CkaLinear
from workers.measures.cknna import CKNNA
from workers.measures.procrustes import Procrustes
from workers.measures.qsi_exact import QsiExact
from workers.measures.rsa import RSA
from workers.measures.sampled import SAMPLED
from workers.measures.tsi_anchors import TsiAnchors
from workers.measures.tsi_exact import TsiExact
from workers.measures.units import UNITS

if TYPE_CHECKING:
    from workers.measures.protocol import Measure

_MEASURES: list[Measure] = [
    *(TsiExact(), *SAMPLED, *UNITS, TsiAnchors(), *BATCHED, QsiExact()),
    *(CkaLinear(), *CKA_KERNELS, *RSA, Procrustes(), *CANONICAL),
    *(mutual_knn.EXACT, mutual_knn.ANCHORS, CKNNA),
]


PLUGINS = plugins.load({measure.measure for measure in _MEASURES})
"""What other packages offer, refused ones included."""

_MEASURES += [measure for plugin in PLUGINS for measure in plugin.measures]

_UNLISTED: list[Measure] = []
"""Work that has the form of a measure and is no entry of a request."""


def register(measure: Measure, *, listed: bool = True) -> None:
    """Add a measure, in place of the one of its name and method if there is one.

    To be called when the module that defines its options is imported: a worker imports that module when it is sent a
    shard, and finds the measure then. The service must import it before `service.schemas`.
    """
    known = _MEASURES if listed else _UNLISTED
    known[:] = [one for one in known if (one.measure, one.method) != (measure.measure, measure.method)]
    known.append(measure)


def all_measures() -> tuple[Measure, ...]:
    """All measures, in the order in which the catalogue shows them."""
    return tuple(_MEASURES)


def find(measure: str, method: str) -> Measure:
    """Return the measure of this name and method.

    Raises
    ------
    LookupError
        If there is none; requests were validated long before.
    """
    for candidate in (*_MEASURES, *_UNLISTED):
        if (candidate.measure, candidate.method) == (measure, method):
            return candidate
    known = ", ".join(f"{candidate.measure} {candidate.method}" for candidate in _MEASURES)
    raise LookupError(f"no measure {measure!r} with method {method!r}; known are: {known}")


def plugin_names() -> list[str]:
    """Name what other packages offer to this process, with what must be equal on all workers."""
    return plugins.describe(PLUGINS)


def plugin_of(measure: str) -> plugins.Plugin | None:
    """Return the plug-in that a measure came with; None for our own."""
    for plugin in PLUGINS:
        if any(offered.measure == measure for offered in plugin.measures):
            return plugin
    return None
