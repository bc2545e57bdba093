"""`ordsim serve` in its own process, driven over HTTP."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from service.client import Client

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parents[1] / "data"
TEXT = {"x": "lab:text_L6_f32", "y": "lab:text_L3_f16"}


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Poll a condition until it holds; fail, saying what was waited for, when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {seconds} s in vain for {what}")
        time.sleep(0.02)


STOP_SECONDS = 120
"""A service that has just lost a worker stops only when the next one has started."""


class ServiceProcess:
    """`ordsim serve` as a child process, on one state directory, startable again after it was killed."""

    def __init__(self, state: Path, root: Path, **settings: str) -> None:
        self.state = state
        self.address = state / "address"
        self.log = state / "service.log"
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ORDSIM_")},
            **{f"ORDSIM_{name.upper()}": value for name, value in settings.items()},
        }
        self.command = [
            *(str(Path(sys.executable).with_name("ordsim")), "serve", "--port", "0"),
            *("--state-dir", str(state), "--root", f"lab={root}"),
        ]
        self.process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def start(self, seconds: float = 240) -> Client:
        """Start the service, wait until it is ready for work, and return a client of it."""
        client = self.listen()
        wait_until(client.ready, seconds, "the service to be ready")
        return client

    def listen(self) -> Client:
        """Start the service, wait until it answers, and return a client of it."""
        self.state.mkdir(exist_ok=True)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(self.command, env=self.environment, stdout=log, stderr=log)
        wait_until(lambda: self._listening() is not None, 240, "the service's address")
        self.url = self._listening() or ""
        return Client(self.url)

    def _listening(self) -> str | None:
        assert self.process is not None
        if self.process.poll() is not None:
            pytest.fail(f"the service ended with {self.process.returncode}:\n{self.log.read_text()}")
        words = self.log.read_text().split()
        return next((word for word in words if word.startswith("http://127.0.0.1:")), None)

    def workers(self) -> list[psutil.Process]:
        """The Dask worker processes of this service."""
        assert self.process is not None
        found = []
        for child in psutil.Process(self.process.pid).children(recursive=True):
            command = " ".join(child.cmdline())
            if "spawn_main" in command:
                found.append(child)
        return found

    def kill(self) -> list[psutil.Process]:
        """kill -9; returns the worker processes that it had."""
        assert self.process is not None
        workers = self.workers()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        return workers

    def stop(self) -> int:
        """Ask it to end, as a process manager would; returns its exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()  # no test leaves a service behind
            raise
