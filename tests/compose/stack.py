"""The cluster of deploy/docker-compose.yml, driven as an operator does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
FILE = REPOSITORY / "deploy" / "docker-compose.yml"
PROJECT = "ordsim-test"
IMAGE = "ordsim-test"
LABEL = f"com.docker.compose.project={PROJECT}"
HTTP = ("http://", "https://")


def docker(*arguments: str, check: bool = True) -> str:
    """Run docker and return what it prints."""
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise AssertionError(f"docker {' '.join(arguments)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout.strip()


def compose_command() -> list[str]:
    """How compose is called here: as a plug-in of docker, or as a command of its own."""
    plugin = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    return ["docker", "compose"] if plugin.returncode == 0 else ["docker-compose"]


def package_index() -> dict[str, str]:
    """Where pip finds packages here, as far as a build can reach it too; nothing where pip was told nothing."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    found = {}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        option, words = name.rpartition(".")[2], value.strip("'\"").split()
        if option in ("index-url", "extra-index-url"):
            words = [word for word in words if word.startswith(HTTP)]
        if option in ("index-url", "extra-index-url", "trusted-host", "default-timeout") and words:
            found[f"PIP_{option.upper().replace('-', '_')}"] = " ".join(words)
    return found


class Stack:
    """One project of compose with a data root and a port of its own."""

    def __init__(self, data: Path, port: int) -> None:
        self._command = [*compose_command(), "--file", str(FILE), "--project-name", PROJECT]
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("ORDSIM_", "COMPOSE_"))},
            **package_index(),
            "ORDSIM_BASE": os.environ["ORDSIM_BASE"],
            "ORDSIM_IMAGE": IMAGE,
            "ORDSIM_DATA": str(data),
            "ORDSIM_PUBLISH": f"127.0.0.1:{port}",
            "ORDSIM_SHARD_SECONDS": "0.1",
            "ORDSIM_WORKER_LIMIT": "3g",
            "ORDSIM_WORKER_MEMORY": "2GiB",
        }
        self.url = f"http://127.0.0.1:{port}"

    def compose(self, *arguments: str) -> str:
        """Run compose and return what it prints."""
        done = subprocess.run(
            [*self._command, *arguments], env=self._environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise AssertionError(
                f"compose {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
            )
        return done.stdout.strip()

    def containers(self, part: str) -> list[dict[str, Any]]:
        """What the engine knows of the containers of one part, those included that ended."""
        labels = ("--filter", f"label={LABEL}", "--filter", f"label=com.docker.compose.service={part}")
        names = docker("ps", "--all", "--quiet", *labels).split()
        found: list[dict[str, Any]] = json.loads(docker("inspect", *names)) if names else []
        return found

    def left(self) -> list[str]:
        """Containers, volumes and networks of the project that are there."""
        listings = (("ps", "--all"), ("volume", "ls"), ("network", "ls"))
        return [name for one in listings for name in docker(*one, "--quiet", "--filter", f"label={LABEL}").split()]
