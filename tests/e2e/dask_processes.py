"""`dask scheduler` and `dask worker` as processes of their own, as an operator starts them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from service_process import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping

DASK = str(Path(sys.executable).with_name("dask"))


def free_port() -> int:
    """A port that nothing listens on; the processes here are told of it before they have it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


class DaskProcesses:
    """One scheduler at a fixed address, and workers that are started again when they end, as a container would be."""

    def __init__(self, directory: Path, roots: Mapping[str, Path], certificates: Path | None = None) -> None:
        self.directory = directory
        self.certificates = certificates
        scheme = "tcp" if certificates is None else "tls"
        self.address = f"{scheme}://127.0.0.1:{free_port()}"
        named = ", ".join(f'"{name}": "{place}"' for name, place in roots.items())
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ORDSIM_")},
            "ORDSIM_ROOTS": f"{{{named}}}",
            "ORDSIM_STAGING_DIRECTORY": str(directory / "staging"),
            "DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES": "[]",
            "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]",
        }
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        self.started = 0

    def start_scheduler(self) -> None:
        """Start the scheduler, without waiting for it."""
        host, port = self.address.rpartition("/")[2].split(":")
        command = ["scheduler", "--host", host, "--port", port, "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
        if self.certificates is not None:
            command += ["--protocol", "tls"]
        self.scheduler = self._start([*command, *self._tls("scheduler")], {})

    def start_worker(self, **variables: str) -> subprocess.Popen[bytes]:
        """Start a worker, without waiting for it."""
        command = ["worker", self.address, "--preload", "workers.preload", "--nthreads", "1", "--memory-limit", "0"]
        command += ["--no-dashboard", "--local-directory", str(self.directory), *self._tls("worker")]
        self.workers.append(self._start(command, variables))
        return self.workers[-1]

    def restart_ended_workers(self) -> None:
        """Start workers again that ended, as a restart policy does."""
        ended = [worker for worker in self.workers if worker.poll() is not None]
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        for _ in ended:
            self.start_worker()

    def logs(self) -> str:
        """All that was printed."""
        return "\n".join(file.read_text(errors="replace") for file in sorted(self.directory.glob("*.log")))

    def computing(self, worker: subprocess.Popen[bytes]) -> psutil.Process:
        """The process below a worker's nanny that computes."""

        def found() -> list[psutil.Process]:
            children = psutil.Process(worker.pid).children(recursive=True)
            return [child for child in children if "spawn_main" in " ".join(child.cmdline())]

        wait_until(lambda: bool(found()), 60, "the process of a worker")
        return found()[0]

    def stop(self) -> None:
        """End all, whatever the test did to them."""
        for process in filter(None, [*self.workers, self.scheduler]):
            if process.poll() is None:
                process.terminate()
        for process in filter(None, [*self.workers, self.scheduler]):
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                for child in psutil.Process(process.pid).children(recursive=True):
                    child.kill()
                process.kill()
                process.wait()

    def _tls(self, part: str) -> list[str]:
        if self.certificates is None:
            return []
        place = self.certificates
        files = {"ca-file": "ca.pem", "cert": f"{part}.pem", "key": f"{part}-key.pem"}
        return [text for option, file in files.items() for text in (f"--tls-{option}", str(place / file))]

    def _start(self, arguments: list[str], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
        self.started += 1
        with (self.directory / f"{self.started}-{arguments[0]}.log").open("wb") as log:
            environment = {**self.environment, **variables}
            return subprocess.Popen([DASK, *arguments], env=environment, stdout=log, stderr=log)
