"""What a job would cost: the same model that cuts its shards, asked before anything is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core.distances import Distance
from service import numerals
from workers import costs
from workers.errors import ProblemError
from workers.measures.protocol import Budget, PairShape
from workers.staging import staged_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.schemas import JobRequest
    from workers.measures.protocol import Measure, MeasureOptions
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


def shape_as_stored(request: JobRequest, rows: int, arrays: Mapping[str, Mapping[str, Any]]) -> PairShape:
    """What metadata says of the pair: `arrays` has shape and dtype of x and y as stored, `rows` are compared."""
    return _shape(
        request,
        rows,
        {name: int(arrays[name]["shape"][1]) for name in ("x", "y")},
        {name: arrays[name]["dtype"] for name in ("x", "y")},
    )


def shape_as_staged(request: JobRequest, x: StagedArray, y: StagedArray) -> PairShape:
    """What staging found of the pair."""
    return _shape(request, x.rows, {"x": x.columns, "y": y.columns}, {"x": x.dtype, "y": y.dtype})


def _shape(request: JobRequest, rows: int, columns: Mapping[str, int], dtypes: Mapping[str, str]) -> PairShape:
    distances = {"x": request.x.distance, "y": request.y.distance}
    # Of precomputed distances, the columns of the selected rows are taken.
    width = {name: rows if distances[name] is Distance.PRECOMPUTED else columns[name] for name in columns}
    staged = {name: staged_dtype(np.dtype(dtypes[name])) for name in dtypes}
    return PairShape(
        rows=rows,
        x_columns=width["x"],
        y_columns=width["y"],
        x_distance=distances["x"],
        y_distance=distances["y"],
        x_itemsize=staged["x"].itemsize,
        y_itemsize=staged["y"].itemsize,
        x_float=staged["x"].kind == "f",
        y_float=staged["y"].kind == "f",
        precision=request.precision,
    )


def check_memory(shape: PairShape, measures: Sequence[tuple[Measure, MeasureOptions]], place: Workplace) -> None:
    """Refuse measures whose smallest shard does not fit into a worker.

    Raises
    ------
    ProblemError
        over-memory-budget, with a pointer to the measure.
    """
    for position, (measure, options) in enumerate(measures):
        needed = worker_bytes(shape, measure, options, place)
        if needed > place.worker_memory:
            arrays, allowed = numerals.size(costs.pair_bytes(shape)), numerals.size(place.worker_memory)
            raise ProblemError(
                "over-memory-budget",
                f"{measure.measure} ({measure.method}) needs {numerals.size(needed)} of a worker's memory, "
                f"{arrays} of it for the two arrays, and a worker may use {allowed}: "
                "compare fewer rows, choose another method, or let the operator give the workers more memory "
                "(ORDSIM_WORKER_MEMORY; fewer workers leave more to each).",
                "request",
                f"/measures/{position}",
            )


def worker_bytes(shape: PairShape, measure: Measure, options: MeasureOptions, place: Workplace) -> int:
    """Private memory of a worker at most, while it counts a shard of this measure."""
    shard = measure.memory(shape, options, place.budget(shape))
    return costs.PROCESS_BYTES + costs.pair_bytes(shape) + max(shard, costs.preparing_bytes(shape))


def plan(
    request: JobRequest, shape: PairShape, arrays: Mapping[str, Mapping[str, Any]], place: Workplace
) -> dict[str, Any]:
    """Build the answer to "what would this cost": the contract's plan document."""
    read, staged = _bytes(request, shape, arrays)
    measures = [_measure(shape, measure, options, place, read) for measure, options in request.options()]
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
        "measure": measure.measure,
        "method": measure.method,
        "shards": len(shards),
        "comparisons": str(measure.comparisons(shape, options)),
        "atMost": measure.sequential(options),
        "bytesToRead": read,
        "peakWorkerBytes": worker_bytes(shape, measure, options, place),
        "seconds": seconds,
    }


def _bytes(request: JobRequest, shape: PairShape, arrays: Mapping[str, Mapping[str, Any]]) -> tuple[int, int]:
    """Bytes of the wanted values as stored, and as staged; an array that is compared with itself counts once."""
    sides = {request.side("x").reference: "x", request.side("y").reference: "y"}
    read = staged = 0
    for name in sides.values():
        columns, itemsize = (shape.x_columns, shape.x_itemsize) if name == "x" else (shape.y_columns, shape.y_itemsize)
        read += shape.rows * columns * np.dtype(arrays[name]["dtype"]).itemsize
        staged += shape.rows * columns * itemsize
    return read, staged
