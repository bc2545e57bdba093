"""The command `ordsim`: its commands by their names."""

from importlib.metadata import version
from typing import Annotated

import typer

from service.commands import (
    certificates,
    comparing,
    conforming,
    examining,
    grids,
    importing,
    jobs,
    keys,
    measures,
    reporting,
    serving,
    upkeep,
)

application = typer.Typer(
    name="ordsim",
    help="How similar are two neural representations? Exact and sampled ordinal similarity (TSI, QSI).",
    epilog="Exit codes: 0 done; 1 the job failed or was dismissed, or a check of `conform` or `doctor` failed; 2 wrong "
    "usage or a refused request; 3 the service cannot be reached or is in trouble; 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"ordsim {version('ordsim')}")
        raise typer.Exit


@application.callback()
def ordsim(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """How similar are two neural representations? Exact and sampled ordinal similarity (TSI, QSI)."""


application.command("serve")(serving.serve)
application.command("compare")(comparing.compare)
application.command("layers")(grids.layers)
application.command("matrix")(grids.matrix)
application.command("measures")(measures.measures)
application.command("submit")(jobs.submit)
application.command("watch")(jobs.watch)
application.command("results")(jobs.results)
application.command("artifact")(reporting.artifact)
application.command("report")(reporting.report)
application.command("list")(jobs.list_jobs)
application.command("cancel")(jobs.cancel)
application.command("import")(importing.import_file)
application.command("conform")(conforming.conform)
application.command("doctor")(examining.doctor)
application.command("certs")(certificates.certs)
application.command("backup")(upkeep.backup)
application.command("clean")(upkeep.clean)
application.add_typer(keys.application)
