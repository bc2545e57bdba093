"""Commands of `ordsim` in tests: run in this process or in one of their own, and what they must say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.commands.application import application
from service.commands.outcome import run

if TYPE_CHECKING:
    from collections.abc import Callable

ORDSIM = str(Path(sys.executable).with_name("ordsim"))
Outcome = subprocess.CompletedProcess[str]


def environment(**variables: str) -> dict[str, str]:
    """The environment without settings of ordsim."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ORDSIM_")}
    return {**clean, "COLUMNS": "100", **variables}


def process(*arguments: str | Path, cwd: Path | None = None, **variables: str) -> Outcome:
    """Run a command in a process of its own."""
    return subprocess.run(
        [ORDSIM, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment(**variables),
        cwd=cwd,
        timeout=180,
        check=False,
    )


def runner(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """What runs a command in this process, which spares the start of another."""

    def call(*arguments: str | Path, **variables: str) -> Outcome:
        with pytest.MonkeyPatch.context() as patch:
            for name in [name for name in os.environ if name.startswith("ORDSIM_")]:
                patch.delenv(name)
            for name, value in {"COLUMNS": "100", **variables}.items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["ordsim", *map(str, arguments)])
            capsys.readouterr()
            code = run(application)
            printed = capsys.readouterr()
        return Outcome(arguments, code, printed.out, printed.err)

    return call


def check_error(done: Outcome, code: int, *words: str) -> None:
    """See that a command ended with a code and said why in a few lines."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert 1 <= len(done.stderr.splitlines()) <= 3
    for word in words:
        assert word in done.stderr
