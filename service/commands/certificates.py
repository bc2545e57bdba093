"""`certs`: certificates for the parts of a Dask cluster."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from service.commands.outcome import CommandError, tell

LONGEST_DAYS = 36500


def certs(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write them; made if need be.")],
    days: Annotated[
        int, typer.Option("--days", min=1, max=LONGEST_DAYS, metavar="N", help="How long they are valid.")
    ] = 3650,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave a whole set that is there already, and is valid, as it is.")
    ] = False,
) -> None:
    """Make certificates for a cluster whose parts encrypt what they say to each other, once for all of them.

    Writes ca.pem, and for scheduler, worker and client (the service) a certificate, NAME.pem, and its private key,
    NAME-key.pem. Nothing is ever overwritten. The authority's key is not kept: to replace one, make all anew.
    """
    from service import certificates  # noqa: PLC0415 - no other command needs cryptography

    found = certificates.present(directory)
    if keep and len(found) == len(certificates.FILES):
        _require_valid(certificates.expiry(directory), directory)
        return
    if found:
        raise CommandError(
            f"{directory} has {', '.join(found)} already, which are not overwritten: name another directory"
        )
    try:
        certificates.write(directory, certificates.make(days))
    except OSError as error:
        raise CommandError(f"{directory}: {error.strerror}") from None
    tell(f"wrote {', '.join(certificates.FILES)} to {directory}, valid for {days} days")


def _require_valid(end: datetime, directory: Path) -> None:
    if end <= datetime.now(UTC):
        raise CommandError(
            f"the certificates in {directory} ended on {end:%Y-%m-%d}: remove them to have new ones made"
        )
