"""The demo: a service of its own, two layers of a language model, one job, one report; nothing stays behind.

Run by ``make demo``. Everything it makes lies in a temporary directory.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from service import numerals
from service.answers import ServiceError, ServiceUnreachable
from service.commands import watching
from service.commands.outcome import CommandError, problem
from service.importing import import_with_progress
from service.private import STARTING, PrivateService, PrivateServiceError
from service.report import print_report

if TYPE_CHECKING:
    from types import FrameType

SAMPLES = Path(__file__).resolve().parents[1] / "tests" / "data" / "sample"
ROOT = "demo"
ARRAYS = {"x": "text_L6_f32", "y": "text_L3_f16"}
MEASURES = [
    {"measure": "tsi", "method": "exact", "per_anchor": True},
    {"measure": "qsi", "method": "sampled", "epsilon": 0.001, "delta": 0.01},
]
CONFIDENCE = 0.99
READY_SECONDS = 180.0

INTERRUPTED = 130


def demonstrate(directory: Path, console: Console) -> None:
    """Start, import, compare, report; the service is gone when this returns, however it returns."""
    begin = time.monotonic()
    roots = {ROOT: directory / "arrays"}
    roots[ROOT].mkdir()
    console.print("How similar are layers 6 and 3 of a language model, on 2,000 sentences?\n")
    with PrivateService(directory / "state", roots) as service:
        console.print(f"starting    {STARTING}")
        for name in ARRAYS.values():
            array = import_with_progress(SAMPLES / f"{name}.npy", roots, ROOT, name, console)
            shape = " x ".join(map(numerals.grouped, array.shape))
            console.print(f"imported    {ROOT}:{name}, {shape}, {array.dtype}")
        with service.connect(READY_SECONDS) as client:
            console.print(f"service     {client.url}, ready after {numerals.duration(time.monotonic() - begin)}")
            status = client.submit(
                **{side: f"{ROOT}:{name}" for side, name in ARRAYS.items()},
                measures=MEASURES,
                confidence=CONFIDENCE,
            )
            console.print(f"submitted   {client.url}/v1/jobs/{status['jobID']}")
            watching.require_success(watching.watch(client, status, outage=0))
            results = client.results(status["jobID"])
            per_anchor = client.artifact(status["jobID"], results[0]["artifacts"][0])
        console.print(f"finished    after {numerals.duration(time.monotonic() - begin)}\n")
        print_report(results)
        if abs(per_anchor.mean() - results[0]["score"]) > 1e-12:
            raise AssertionError("the scores of the anchors do not average to the score of all")
        worst = int(per_anchor.argmin())
        said = f"Row {worst} is seen most differently in x and y: its own TSI is {per_anchor[worst]:.4f}."
        console.print(f"\n  {said}\n")
        sys.stdout.flush()
    console.print("stopped     the service and its workers")


def main() -> int:
    """Run the demo and return its exit code: 0 only if everything worked."""
    signal.signal(signal.SIGTERM, _leave)
    console = Console(highlight=False, markup=False, emoji=False)
    try:
        with tempfile.TemporaryDirectory(prefix="ordsim-demo-", ignore_cleanup_errors=True) as directory:
            demonstrate(Path(directory), console)
    except KeyboardInterrupt:
        print("\nThe demo was interrupted; its service has ended.", file=sys.stderr)
        return INTERRUPTED
    except ServiceError as error:
        print(f"demo: {problem(error)}", file=sys.stderr)
        return 1
    except (CommandError, PrivateServiceError, ServiceUnreachable) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0


def _leave(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
