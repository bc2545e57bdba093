"""What an operator can set: each field is an option of ``ordsim serve`` and a variable ``ORDSIM_...``."""

from __future__ import annotations

import ipaddress
import os
import re
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    ByteSize,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from service import clusters, database
from service.quotas import LONGEST_QUEUE
from workers import logs
from workers.environment import PREFIX
from workers.references import Root, Roots

ROOT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

LEAST_WORKER_MEMORY = 512 << 20
"""Bytes."""


class Settings(BaseSettings):
    """Settings of one service.

    Attributes
    ----------
    host, port : str, int
        Where to listen.
    keys : {"auto", "on", "off"}
        Whether to ask for API keys; auto: unless only this machine can reach the address.
    state_dir : Path
        Job store, staged copies, artifacts, scratch space; owned by one service at a time.
    roots : dict of str to str
        Directory of each data root by its name; as a variable, JSON.
    workers : int
        Worker processes of the embedded cluster.
    scheduler : str or None
        Address of the scheduler of another cluster, to be used instead.
    tls_ca, tls_cert, tls_key : Path or None
        Files of the authority, the certificate and its key, for a scheduler at ``tls://``.
    worker_memory : int or None
        Private memory that one worker process may use, such as "8GiB" or a number of bytes; if None, its part of most
        of the machine's memory. Jobs that need more are refused.
    shard_seconds : float
        About how long one shard computes.
    max_running : int
        Jobs that compute at once; others wait in the queue, or for their next turn.
    turn_seconds : float
        How long a job computes, while others wait, before it is their turn.
    log_format : {"text", "json"}
    log_level : {"debug", "info", "warning", "error"}
        Of the service and its workers; at "info" every request and every shard has a line.
    retain_days : float or None
        Days that results and artifacts of a job are kept after its end; for ever if None.
    max_queued : int
        Jobs that may wait; further submissions are refused.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    keys: Literal["auto", "on", "off"] = "auto"
    state_dir: Path = Path(".ordsim")
    roots: dict[str, str] = Field(default_factory=dict)
    workers: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1, le=1024)
    worker_memory: ByteSize | None = None
    shard_seconds: float = Field(default=0.5, gt=0, le=3600, allow_inf_nan=False)
    max_running: int = Field(default=4, ge=1, le=64)
    retain_days: float | None = Field(default=None, ge=0, le=36500, allow_inf_nan=False)
    turn_seconds: float = Field(default=10.0, gt=0, le=86_400, allow_inf_nan=False)
    log_format: logs.Style = "text"
    log_level: logs.Level = "warning"
    max_queued: int = Field(default=LONGEST_QUEUE, ge=1)
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    scheduler: str | None = Field(default=None, validate_default=True)

    @field_validator("host")
    @classmethod
    def _address(cls, host: str) -> str:
        if not host:
            raise ValueError("it is empty: 127.0.0.1 is this machine alone, 0.0.0.0 all its addresses")
        return host

    @field_validator("keys")
    @classmethod
    def _keys_or_loopback(cls, keys: str, info: ValidationInfo) -> str:
        host = info.data.get("host", "")  # not there if it was refused itself
        if keys == "off" and host and not is_loopback(host):
            raise ValueError(
                f"without API keys, whoever reaches host {host!r} could use the service: leave them on, or "
                "listen on 127.0.0.1, ::1 or localhost"
            )
        return keys

    @field_validator("worker_memory", mode="wrap")
    @classmethod
    def _size(cls, size: Any, read: ValidatorFunctionWrapHandler) -> Any:
        try:
            return read(size)
        except ValidationError:
            raise ValueError(f"{size!r} is no size: write e.g. 8GiB, or a number of bytes") from None

    @field_validator("worker_memory")
    @classmethod
    def _enough_memory(cls, size: ByteSize | None) -> ByteSize | None:
        if size is not None and size < LEAST_WORKER_MEMORY:
            raise ValueError(
                f"{size.human_readable(separator=' ')} is too little for a worker process, which needs at least "
                f"{LEAST_WORKER_MEMORY >> 20} MiB"
            )
        return size

    @field_validator("scheduler")
    @classmethod
    def _reachable_as_it_says(cls, address: str | None, info: ValidationInfo) -> str | None:
        if address is not None and not is_loopback(clusters.host(address)) and address.startswith("tcp:"):
            raise ValueError(
                f"{address} is another machine: whoever is in between could run code on the cluster. Use tls:// with "
                "certificates, which `ordsim certs` makes"
            )
        clusters.require_certificates(address, *(info.data.get(name) for name in ("tls_ca", "tls_cert", "tls_key")))
        return address

    @field_validator("roots")
    @classmethod
    def _directories(cls, roots: dict[str, str]) -> dict[str, str]:
        for name, directory in roots.items():
            if not ROOT_NAME.fullmatch(name):
                raise ValueError(
                    f"root name {name!r} is not usable: letters, digits, dot, dash and underscore, 64 at most"
                )
            if not Path(directory).is_dir():
                raise ValueError(f"root {name!r}: {directory!r} is not a directory")
        # Absolute now: worker processes may run in other directories.
        return {name: str(Path(directory).resolve()) for name, directory in roots.items()}

    def known_roots(self) -> Roots:
        """The roots in the form that `workers.references` resolves against."""
        return {name: Root(name, directory) for name, directory in self.roots.items()}

    def hidden(self) -> dict[str, str]:
        """What logs say in place of directories: where data are is the operator's business alone."""
        return logs.hidden_directories(self.roots, str(self.state_dir.resolve()))

    @property
    def keys_required(self) -> bool:
        """Whether requests need an API key."""
        return self.keys == "on" or (self.keys == "auto" and not is_loopback(self.host))

    @property
    def database(self) -> Path:
        """File of the job store."""
        return self.state_dir / database.FILE

    @property
    def staging_directory(self) -> Path:
        """Where this node keeps its memory-mapped copies."""
        return self.state_dir / "staging"

    @property
    def scratch_directory(self) -> Path:
        """Where workers keep what they need for a moment."""
        return self.state_dir / "scratch"

    @property
    def artifacts_directory(self) -> Path:
        """Where the large outputs of jobs are."""
        return self.state_dir / "artifacts"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
