"""From the ledger of a job to what its measures found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from service import results
from workers.measures import resolved

if TYPE_CHECKING:
    from service.ledger import Ledger
    from service.preparing import Prepared
    from service.schemas import Request
    from workers.measures.protocol import MeasureOptions, Outcome


def outcomes(
    ledger: Ledger, job: str, request: Request, prepared: Prepared
) -> tuple[list[tuple[MeasureOptions, Outcome]], list[int]]:
    """Add up what each measure of a finished job counted.

    Returns
    -------
    outcomes : list of (options, outcome)
        In the order of the results, calibrations put to the scores that they are of.
    unsettled : list of int
        Positions of those that were to stop at a width and did not reach it.
    """
    facts = results.facts(request, prepared)
    settled = ledger.settled(job)
    identical = len({array.fingerprint for array in prepared.arrays.values()}) == 1
    found: list[tuple[MeasureOptions, Outcome]] = []
    unsettled = []
    entries = request.options()
    for position, (measure, options) in enumerate(request.works()):
        total = ledger.total(job, position)
        known = replace(facts, precision=total.precision or facts.precision)
        outcome = measure.finish(total, known, options, request.confidence_of(options))
        # Equal arrays under two distances are two spaces, whose deficit need not be 0.
        same = identical and outcome.deficit == 0
        outcome = replace(outcome, resolution=resolved.resolution(options, total, outcome, identical=same))
        if position >= len(entries):
            place = position - len(entries)
            # Of two arrays, a matrix of scores would only say the same again.
            figures = {} if request.process == "compare" else outcome.figures
            found[place] = (found[place][0], _calibrated(found[place][1], replace(outcome, figures=figures)))
            continue
        found.append((options, outcome))
        # Permutations that go on to the last have reached what was asked for.
        if measure.sequential(options) and options.innermost is options and position not in settled:
            unsettled.append(position)
    return found, unsettled


def plan(ledger: Ledger, job: str, request: Request) -> list[dict[str, Any]]:
    """Say how the work was cut up, and how long workers took for it."""
    return [
        {
            "measure": options.label[0],
            "method": options.label[1],
            "shards": entry["shards"],
            "workerSeconds": round(entry["seconds"], 3),
        }
        for (_, options), entry in zip(request.works(), ledger.summary(job), strict=True)
    ]


def _calibrated(outcome: Outcome, calibration: Outcome) -> Outcome:
    """Put a calibration to the score that it is of."""
    return replace(
        outcome,
        figures={**outcome.figures, **calibration.figures},
        calibration=calibration.calibration,
        artifacts={**outcome.artifacts, **calibration.artifacts},
        cautions=(*outcome.cautions, *calibration.cautions),
    )
