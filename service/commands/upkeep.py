"""`backup` and `clean`: looking after a state directory."""

import sqlite3
from pathlib import Path
from typing import Annotated

import typer

from service import numerals
from service.commands import options
from service.commands.outcome import JOB_FAILED, REFUSED, CommandError

StateDir = Annotated[
    Path,
    typer.Option("--state-dir", metavar="DIR", envvar="ORDSIM_STATE_DIR", help="State directory of the service."),
]


def backup(
    state_dir: Annotated[Path, typer.Argument(metavar="STATE_DIR", help="State directory of the service.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="Directory to be made.")],
) -> None:
    """Copy the jobs, results and artifacts of a service, which may go on working meanwhile.

    To restore, stop the service and put the copy in the place of its state directory; or start `ordsim serve
    --state-dir` on the copy. Jobs that had not finished go on from the shards that were done.
    """
    from service.backup import BackupError  # noqa: PLC0415 - brings numpy
    from service.backup import backup as make  # noqa: PLC0415

    try:
        jobs = make(state_dir, target)
    except BackupError as error:
        raise CommandError(str(error), REFUSED) from None
    print(f"{numerals.grouped(jobs)} jobs are in {target}")


def clean(
    state_dir: StateDir = Path(".ordsim"),
    retain_days: options.RetainDays = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed, and remove nothing.")] = False,
) -> None:
    """Remove staged copies, temporary files, orphaned artifacts and what expired jobs left.

    The service must be stopped. What unfinished jobs need stays; arrays are staged again when a job needs them.
    """
    from service import cleaning, lock  # noqa: PLC0415 - brings numpy
    from service.settings import Settings  # noqa: PLC0415
    from service.store import JobStore  # noqa: PLC0415

    settings = Settings(state_dir=state_dir, roots={}, retain_days=retain_days)
    if not settings.database.is_file():
        raise CommandError(f"{state_dir} is no state directory: it has no {settings.database.name}", REFUSED)
    try:
        with lock.own(state_dir):
            store = JobStore(settings.database)
            try:
                freed = cleaning.clean(settings, store, dry_run)
            finally:
                store.close()
    except (lock.StateDirectoryInUseError, sqlite3.Error) as error:
        raise CommandError(str(error), JOB_FAILED) from None
    for one in freed:
        print(f"{one.what}: {one.number}, {numerals.size(one.size)}")
    total = numerals.size(sum(one.size for one in freed))
    print(f"{total} {'would be' if dry_run else 'were'} freed")
