"""What a job would cost: the same model that cuts its shards, asked before anything is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.distances import Distance
from service import numerals
from workers import costs
from workers.errors import ProblemError
from workers.measures.protocol import Budget
from workers.shapes import Described, pair_shape
from workers.writing import staged_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.schemas import Request
    from workers.measures.protocol import Measure, MeasureOptions, PairShape
    from workers.staging import StagedArray


@dataclass(frozen=True, slots=True)
class Workplace:
    """What there is to compute with.

    Attributes
    ----------
    shard_seconds : float
        About how long a shard may take.
    worker_memory : int
        Private memory of a worker, in bytes.
    threads : int
        Shards that run at once now; 0 while no worker is connected.
    """

    shard_seconds: float
    worker_memory: int
    threads: int = 0

    def budget(self, shape: PairShape) -> Budget:
        """What a shard may take: what a worker has beyond itself and both prepared arrays."""
        beyond = self.worker_memory - costs.PROCESS_BYTES - costs.pair_bytes(shape)
        return Budget(self.shard_seconds, max(0, beyond))


def shape_as_stored(request: Request, rows: int, arrays: Mapping[str, Mapping[str, Any]]) -> PairShape:
    """What metadata says: `arrays` has shape and dtype of each array as stored, `rows` are compared."""
    return _shape(request, rows, {name: (int(array["shape"][1]), array["dtype"]) for name, array in arrays.items()})


def shape_as_staged(request: Request, arrays: Mapping[str, StagedArray]) -> PairShape:
    """What staging found."""
    rows = next(iter(arrays.values())).rows
    return _shape(request, rows, {name: (array.columns, array.dtype) for name, array in arrays.items()})


def _shape(request: Request, rows: int, known: Mapping[str, tuple[int, str]]) -> PairShape:
    arrays = request.arrays()
    x, y = ([Described(*known[name], arrays[name].distance) for name in names] for names in request.names())
    return pair_shape(rows, x, y, request.precision)


def check_memory(request: Request, shape: PairShape, place: Workplace) -> None:
    """Refuse measures whose smallest shard does not fit into a worker.

    Raises
    ------
    ProblemError
        over-memory-budget, with a pointer to the measure.
    """
    for position, (measure, options) in enumerate(request.works()):
        needed = worker_bytes(shape, measure, options, place)
        if needed > place.worker_memory:
            arrays = "" if measure.streams else f"{numerals.size(costs.pair_bytes(shape))} of it for the two arrays, "
            raise ProblemError(
                "over-memory-budget",
                f"{options.label[0]} ({options.label[1]}) needs {numerals.size(needed)} of a worker's memory, "
                f"{arrays}and a worker may use {numerals.size(place.worker_memory)}: "
                "compare fewer rows, choose another method, or let the operator give the workers more memory "
                "(ORDSIM_WORKER_MEMORY; fewer workers leave more to each).",
                "request",
                request.pointer(position),
            )


def worker_bytes(shape: PairShape, measure: Measure, options: MeasureOptions, place: Workplace) -> int:
    """Private memory of a worker at most, while it counts a shard of this measure."""
    shard = measure.memory(shape, options, place.budget(shape))
    if measure.streams:
        return costs.PROCESS_BYTES + shard
    return costs.PROCESS_BYTES + costs.pair_bytes(shape) + max(shard, costs.preparing_bytes(shape))


def comparisons(request: Request, shape: PairShape) -> int:
    """How many comparisons a job makes at most."""
    return sum(measure.comparisons(shape, options) for measure, options in request.works())


def plan(
    request: Request, shape: PairShape, arrays: Mapping[str, Mapping[str, Any]], place: Workplace
) -> dict[str, Any]:
    """Build the answer to "what would this cost": the contract's plan document."""
    read, staged = _bytes(request, shape, arrays)
    measures = [_measure(shape, measure, options, place, read) for measure, options in request.works()]
    once = costs.stage_seconds(staged) + costs.prepare_seconds(shape)
    return {
        "seconds": round(once + sum(measure["seconds"] for measure in measures), 3),
        "workers": place.threads,
        "peakWorkerBytes": max(measure["peakWorkerBytes"] for measure in measures),
        "workerMemoryBytes": place.worker_memory,
        "stageBytes": staged,
        "measures": [{**measure, "seconds": round(measure["seconds"], 3)} for measure in measures],
    }


def _measure(
    shape: PairShape, measure: Measure, options: MeasureOptions, place: Workplace, read: int
) -> dict[str, Any]:
    shards = measure.shards(shape, options, place.budget(shape))
    seconds = measure.seconds(shape, options)
    if shards and place.threads:
        # The last round of shards leaves workers idle.
        rounds = -(-len(shards) // place.threads)
        seconds *= rounds / len(shards)
    return {
        "measure": options.label[0],
        "method": options.label[1],
        "shards": len(shards),
        "comparisons": str(measure.comparisons(shape, options)),
        "atMost": measure.sequential(options),
        "bytesToRead": read,
        "peakWorkerBytes": worker_bytes(shape, measure, options, place),
        "seconds": seconds,
    }


def _bytes(request: Request, shape: PairShape, arrays: Mapping[str, Mapping[str, Any]]) -> tuple[int, int]:
    """Bytes of the wanted values as stored, and as staged; an array that is compared with itself counts once."""
    different = {request.side(name).reference: name for name in arrays}
    read = staged = 0
    for name in different.values():
        dtype = np.dtype(arrays[name]["dtype"])
        precomputed = request.arrays()[name].distance is Distance.PRECOMPUTED
        columns = shape.rows if precomputed else int(arrays[name]["shape"][1])
        read += shape.rows * columns * dtype.itemsize
        staged += shape.rows * columns * staged_dtype(dtype).itemsize
    return read, staged
