"""What a worker process knows by itself: task arguments carry names, never addresses or directories."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ByteSize, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from workers import logs
from workers.references import Root

if TYPE_CHECKING:
    from workers.references import Roots

PREFIX = "ORDSIM_"


class WorkerEnvironment(BaseSettings):
    """Settings of one worker process, read from variables that begin with ``ORDSIM_``.

    Attributes
    ----------
    roots : dict of str to str
        Directory of each data root by its name, written as JSON.
    staging_directory : Path
        Where this node keeps its memory-mapped copies.
    space_cache_bytes : int
        Prepared arrays kept between shards, in each process; the two of the running shard always fit.
    worker_memory : int or None
        Private memory, in bytes, that this process may use; unlimited if None.
    log_format, log_level : str
        As those of the service.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    roots: dict[str, str] = Field(default_factory=dict)
    staging_directory: Path
    space_cache_bytes: int = Field(default=2 * 1024**3, ge=0)
    worker_memory: ByteSize | None = Field(default=None, gt=0)
    log_format: logs.Style = "text"
    log_level: logs.Level = "warning"

    def known_roots(self) -> Roots:
        """The roots in the form that `workers.references` resolves against."""
        return {name: Root(name, directory) for name, directory in self.roots.items()}


@cache
def from_environment() -> WorkerEnvironment:
    """Read the environment once per process: a nanny sets it before the process starts."""
    return WorkerEnvironment()
