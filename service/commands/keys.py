"""`keys create`, `keys list` and `keys revoke`: the API keys of a state directory, also while a service works on it."""

import contextlib
import re
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from service import clock, keyring, lock
from service.commands import options
from service.commands.outcome import CommandError, print_json, tell
from service.connection import KEY_VARIABLE
from service.keyring import Keyring
from service.keys import Key, Limits, Scope
from service.listing import print_keys

application = typer.Typer(
    name="keys",
    help="Make, list and revoke the API keys of a service. Works on its state directory, also while it runs.",
    no_args_is_help=True,
)

PERIOD = re.compile(r"([1-9][0-9]{0,4})([hd])")
USUAL_SCOPES = (Scope.JOBS_READ, Scope.JOBS_WRITE)

StateDirectory = Annotated[
    Path,
    typer.Option("--state-dir", metavar="DIR", envvar="ORDSIM_STATE_DIR", help="That of the service."),
]
DEFAULT_DIRECTORY = Path(".ordsim")
AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON document instead.")]


@application.command("create")
def create(
    label: Annotated[str, typer.Option("--label", help="Whose it is, and what for.")] = "",
    scope: Annotated[
        list[Scope] | None,
        typer.Option(
            "--scope",
            help="What the key may do; repeat it for several. jobs:write submits and cancels, admin is everything "
            f"with the jobs of all keys. [default: {' and '.join(USUAL_SCOPES)}]",
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            "--expires", metavar="WHEN", help="12h, 90d, 2027-01-31 or 2027-01-31T12:00+01:00. [default: never]"
        ),
    ] = None,
    queued: Annotated[
        int | None, typer.Option("--queued", min=1, metavar="N", help="Jobs that may wait; more are refused.")
    ] = None,
    running: Annotated[
        int | None, typer.Option("--running", min=1, metavar="N", help="Jobs that run at once; more wait.")
    ] = None,
    comparisons: Annotated[
        str | None, typer.Option("--comparisons", metavar="N", help="Comparisons a day (UTC), e.g. 1e12.")
    ] = None,
    state_dir: StateDirectory = DEFAULT_DIRECTORY,
    as_json: AsJson = False,
) -> None:
    """Make a key and print it, this once: only a hash of it is kept."""
    limits = Limits(queued, running, None if comparisons is None else _count(comparisons))
    expiry = None if expires is None else clock.written(_moment(expires, clock.utc_now()))
    with _opened(state_dir, new=True) as ring:
        made, token = ring.create(label, frozenset(scope or USUAL_SCOPES), limits, expiry)
    if as_json:
        print_json({**document(made, clock.written(clock.utc_now())), "key": token})
        return
    print(token, flush=True)
    tell(f"This is shown once. Clients read it from {KEY_VARIABLE}; `ordsim keys revoke {made.id}` ends it.")


@application.command("list")
def list_keys(state_dir: StateDirectory = DEFAULT_DIRECTORY, as_json: AsJson = False) -> None:
    """List the keys, never their secrets."""
    with _opened(state_dir) as ring:
        found = ring.all()
    now = clock.written(clock.utc_now())
    documents = [document(key, now) for key in found]
    if as_json:
        print_json({"keys": documents})
    else:
        print_keys(documents)


@application.command("revoke")
def revoke(
    key: Annotated[str, typer.Argument(metavar="ID", help="The eight characters after ordsim_.")],
    state_dir: StateDirectory = DEFAULT_DIRECTORY,
    as_json: AsJson = False,
) -> None:
    """End a key at once. Its jobs go on, and are there for keys with the scope admin."""
    with _opened(state_dir) as ring:
        try:
            revoked = ring.revoke(key)
        except keyring.UnknownKeyError:
            raise CommandError("there is no key of this id; `ordsim keys list` shows them") from None
    if as_json:
        print_json(document(revoked, clock.written(clock.utc_now())))
    else:
        print(f"{revoked.id} is revoked")


def document(key: Key, now: str) -> dict[str, Any]:
    """What is shown of a key."""
    comparisons = key.limits.comparisons
    return {
        "id": key.id,
        "label": key.label,
        "state": key.state(now),
        "scopes": list(key.sorted_scopes()),
        "created": key.created,
        "expires": key.expires,
        "revoked": key.revoked,
        "limits": {
            "queued": key.limits.queued,
            "running": key.limits.running,
            "comparisonsPerDay": None if comparisons is None else str(comparisons),
        },
    }


@contextlib.contextmanager
def _opened(directory: Path, new: bool = False) -> Iterator[Keyring]:
    try:
        with keyring.opened(directory, new) as ring:
            yield ring
    except (FileNotFoundError, lock.StateDirectoryInUseError, RuntimeError) as error:
        raise CommandError(str(error)) from None
    except (sqlite3.Error, OSError) as error:
        raise CommandError(f"the job store in {directory} cannot be used: {error}") from None


def _count(text: str) -> int:
    found = options.value(text)
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise typer.BadParameter(f"{text!r}: write a whole number, e.g. 1e12", param_hint="--comparisons")
    return found


def _moment(text: str, now: datetime) -> datetime:
    """Read when a key expires: after a period, at the beginning of a day in UTC, or at a moment."""
    try:
        if period := PERIOD.fullmatch(text):
            return now + timedelta(**{"h": {"hours": int(period[1])}, "d": {"days": int(period[1])}}[period[2]])
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"{text!r}: write e.g. 12h, 90d or 2027-01-31", param_hint="--expires") from None
    if moment <= now:
        raise typer.BadParameter(f"{text!r} is over already", param_hint="--expires")
    return moment
