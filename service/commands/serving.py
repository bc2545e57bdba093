"""`serve`: run the service here."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.commands import options
from service.commands.outcome import NOT_STARTED, REFUSED, CommandError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from service.settings import Settings


def serve(
    host: Annotated[
        str | None,
        typer.Option("--host", metavar="HOST", envvar="ORDSIM_HOST", help="Address to listen on. [default: 127.0.0.1]"),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", min=0, max=65535, metavar="PORT", envvar="ORDSIM_PORT", help="0 picks a free one. [default: 8000]"
        ),
    ] = None,
    state_dir: Annotated[
        Path | None,
        typer.Option(
            "--state-dir",
            metavar="DIR",
            envvar="ORDSIM_STATE_DIR",
            help="Job store, staged copies and artifacts; one service owns it. [default: .ordsim]",
        ),
    ] = None,
    keys: Annotated[
        str | None,
        typer.Option(
            "--keys",
            metavar="WHEN",
            envvar="ORDSIM_KEYS",
            help="Whether requests need API keys (`ordsim keys`): on, off, or auto: unless HOST is a loopback "
            "address. off is for loopback addresses only. [default: auto]",
        ),
    ] = None,
    root: options.Root = None,
    workers: options.Workers = None,
    worker_memory: options.WorkerMemory = None,
    shard_seconds: Annotated[
        float | None,
        typer.Option(
            "--shard-seconds",
            envvar="ORDSIM_SHARD_SECONDS",
            metavar="SECONDS",
            help="About how long one piece of work takes. [default: 0.5]",
        ),
    ] = None,
    max_running: Annotated[
        int | None,
        typer.Option(
            "--max-running", metavar="N", envvar="ORDSIM_MAX_RUNNING", help="Jobs that compute at once. [default: 4]"
        ),
    ] = None,
    turn_seconds: Annotated[
        float | None,
        typer.Option(
            "--turn-seconds",
            envvar="ORDSIM_TURN_SECONDS",
            metavar="SECONDS",
            help="How long a job computes, while others wait, before it is their turn. [default: 10]",
        ),
    ] = None,
    log_format: Annotated[
        str | None,
        typer.Option(
            "--log-format", envvar="ORDSIM_LOG_FORMAT", metavar="FORMAT", help="text or json. [default: text]"
        ),
    ] = None,
    log_level: Annotated[
        str | None,
        typer.Option(
            "--log-level",
            envvar="ORDSIM_LOG_LEVEL",
            metavar="LEVEL",
            help="debug, info (a line for each request and shard), warning or error. [default: warning]",
        ),
    ] = None,
    retain_days: options.RetainDays = None,
    max_queued: Annotated[
        int | None,
        typer.Option(
            "--max-queued",
            metavar="N",
            envvar="ORDSIM_MAX_QUEUED",
            help="Jobs that may wait; more are refused. [default: 1000]",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            envvar="ORDSIM_SCHEDULER",
            help="Compute on the Dask cluster of this scheduler, tls://HOST:PORT, or here tcp://HOST:PORT, not on "
            "--workers of this machine. Its workers run with --preload workers.preload.",
        ),
    ] = None,
    tls_ca: Annotated[
        Path | None,
        typer.Option(
            "--tls-ca", metavar="FILE", envvar="ORDSIM_TLS_CA", help="Authority, for tls://; see `ordsim certs`."
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None,
        typer.Option("--tls-cert", metavar="FILE", envvar="ORDSIM_TLS_CERT", help="Certificate of this service."),
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", metavar="FILE", envvar="ORDSIM_TLS_KEY", help="Its private key.")
    ] = None,
    ends_with_stdin: Annotated[bool, typer.Option("--ends-with-stdin", hidden=True)] = False,
) -> None:
    """Run the service here, with workers of its own or those of a Dask cluster, until Ctrl-C."""
    given: dict[str, Any] = {
        "host": host,
        "port": port,
        "state_dir": state_dir,
        "keys": keys,
        "workers": workers,
        "worker_memory": worker_memory,
        "shard_seconds": shard_seconds,
        "max_running": max_running,
        "retain_days": retain_days,
        "turn_seconds": turn_seconds,
        "log_format": log_format,
        "log_level": log_level,
        "max_queued": max_queued,
        "scheduler": scheduler,
        "tls_ca": tls_ca,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
    }
    if root:
        given["roots"] = {name: str(directory) for name, directory in options.named(root).items()}
    settings = _settings({name: value for name, value in given.items() if value is not None})
    from service.serving import NotStartedError, run  # noqa: PLC0415 - Dask and FastAPI take a while

    try:
        run(settings, ends_with_stdin)
    except NotStartedError as error:
        raise CommandError(str(error), NOT_STARTED) from None


def _settings(given: dict[str, Any]) -> "Settings":
    """Settings of the command line, and of the environment where it says nothing."""
    from pydantic import ValidationError  # noqa: PLC0415 - brings numpy, which no other command needs

    from service.settings import Settings  # noqa: PLC0415

    try:
        return Settings(**given)
    except ValidationError as error:
        raise CommandError(_explain(error.errors(include_url=False)), REFUSED) from None


def _explain(faults: "list[ErrorDetails]") -> str:
    """Say in one line a setting what is wrong with it."""
    lines = []
    for fault in faults:
        name = ".".join(map(str, fault["loc"])).replace("_", "-")
        lines.append(f"--{name}: {fault['msg'].removeprefix('Value error, ')}")
    return "\n  ".join(lines)
