"""A service for one call: started as a child process, and gone when the call ends, however it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from service.client import Client
from service.connection import KEY_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Self

START_SECONDS = 300.0
STOP_SECONDS = 20.0
POLL_SECONDS = 0.05
LOG_LINES = 5
STARTING = "a service with its workers"
COMPILING = f"{STARTING}; this first start compiles its kernels, which takes a minute"
"""What a person is told who waits for one."""


def starting() -> str:
    """Say what is started, and that kernels are compiled where none of this source are kept."""
    from ordsim_core import kernel_cache  # noqa: PLC0415 - brings numba, as the check of the request does

    # Those that count triplets stand for all.
    place, source = kernel_cache.directory(), kernel_cache.PACKAGE / "concordance.py"
    kept = place is not None and any((place / f"{source.stem}-{kernel_cache.digest_of(source)}").glob("*.nbi"))
    return STARTING if kept else COMPILING


class PrivateServiceError(Exception):
    """The private service did not start; the last lines of its log say why."""


class PrivateService:
    """`ordsim serve` on a free port of the loopback interface, in a session of its own.

    An interrupt from the keyboard thus reaches the caller alone, which ends the service in order. If the caller
    is killed, the pipe to the service's standard input closes, and the service ends by itself.

    Parameters
    ----------
    state : Path
        State directory; also holds the log, ``service.log``.
    roots : mapping of str to Path
        Directory of each data root by its name.
    workers : int or None
        Worker processes; the number of cores if None.
    """

    def __init__(self, state: Path, roots: Mapping[str, Path], workers: int | None = None) -> None:
        self._log = state / "service.log"
        # -P: a package called `service` in the caller's directory must not take this one's place.
        self._command = [sys.executable, "-P", "-m", "service.cli", "serve"]
        self._command += ["--host", "127.0.0.1", "--port", "0", "--state-dir", str(state), "--ends-with-stdin"]
        self._command += ["--keys", "off"]
        for name, directory in roots.items():
            self._command += ["--root", f"{name}={directory}"]
        if workers is not None:
            self._command += ["--workers", str(workers)]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the process, without waiting for it."""
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
                # An API key is for a service elsewhere, and none of the private one's business.
                env={name: value for name, value in os.environ.items() if name != KEY_VARIABLE},
            )

    def connect(self, seconds: float = START_SECONDS) -> Client:
        """Wait until the service is ready for work and return a client of it.

        Raises
        ------
        PrivateServiceError
            If it ended, or was not ready in time.
        """
        deadline = time.monotonic() + seconds
        url = None
        while url is None:
            self._check(deadline, seconds)
            url = self._address()
        client = Client(url)
        try:
            while not client.ready():
                self._check(deadline, seconds)
        except BaseException:
            client.close()
            raise
        return client

    def stop(self) -> int | None:
        """End the service and its workers, and return its exit code; None when there was nothing to end."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
        finally:
            # Whatever is left of its session: workers of a service that had to be killed.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if process.stdin is not None:
                process.stdin.close()
        return process.returncode

    def _check(self, deadline: float, seconds: float) -> None:
        """Wait a moment; raise if there is nothing to wait for."""
        assert self._process is not None
        code = self._process.poll()
        if code is not None:
            raise PrivateServiceError(f"the private service ended with code {code}: {self.last_words()}")
        if time.monotonic() > deadline:
            raise PrivateServiceError(f"the private service was not ready after {seconds:.0f} s: {self.last_words()}")
        time.sleep(POLL_SECONDS)

    def _address(self) -> str | None:
        words = self._log.read_text(errors="replace").split()
        return next((word for word in words if word.startswith("http://")), None)

    def last_words(self) -> str:
        """The last lines of the service's log."""
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return " / ".join(line.strip() for line in lines[-LOG_LINES:]) or "it printed nothing"
