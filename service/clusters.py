"""Which cluster a service uses: one of its own on this machine, or one that is there already."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pathlib import Path

    from service.settings import Settings
    from workers.cluster import Cluster

SCHEMES = ("tcp", "tls")


def make(settings: Settings) -> Cluster:
    """Make the cluster of these settings, without starting it."""
    from workers.embedded import EmbeddedCluster  # noqa: PLC0415 - settings are read before Dask is needed
    from workers.environment import PREFIX  # noqa: PLC0415
    from workers.external import ExternalCluster  # noqa: PLC0415

    if settings.scheduler is not None:
        return ExternalCluster(settings.scheduler, sorted(settings.roots), _security(settings), settings.worker_memory)
    return EmbeddedCluster(
        settings.workers,
        settings.known_roots(),
        settings.staging_directory,
        settings.state_dir,
        settings.worker_memory,
        {f"{PREFIX}LOG_FORMAT": settings.log_format, f"{PREFIX}LOG_LEVEL": settings.log_level},
    )


def host(address: str) -> str:
    """Host of the scheduler's address.

    Raises
    ------
    ValueError
        If it is no address of a scheduler.
    """
    parts = urlsplit(address)
    more = parts.path or parts.query or parts.fragment or parts.username or parts.password
    if parts.scheme not in SCHEMES or not parts.hostname or not parts.port or more:
        raise ValueError(
            f"{address!r} is no address of a scheduler: write tls://HOST:PORT, or tcp://HOST:PORT on this machine"
        )
    return parts.hostname


def require_certificates(
    address: str | None, authority: Path | None, certificate: Path | None, key: Path | None
) -> None:
    """See that there are certificates where the address asks for them, and nowhere else.

    Raises
    ------
    ValueError
        Saying which are missing, cannot be read, or do not belong together.
    """
    given = {"--tls-ca": authority, "--tls-cert": certificate, "--tls-key": key}
    if address is None or urlsplit(address).scheme != "tls":
        if any(given.values()):
            raise ValueError("certificates are for tls://HOST:PORT only; without it nothing would be encrypted")
        return
    if missing := [option for option, file in given.items() if file is None]:
        raise ValueError(
            f"{address} needs {', '.join(missing)}: files of the authority, and of a certificate and its key; "
            "`ordsim certs DIR` makes them"
        )
    for option, file in given.items():
        try:
            with open(str(file), "rb"):  # noqa: PTH123 - whether this user may read it
                pass
        except OSError as error:
            raise ValueError(f"{option} {file}: {error.strerror}") from None
    try:
        ssl.create_default_context(cafile=authority).load_cert_chain(str(certificate), str(key))
    except (ssl.SSLError, OSError) as error:
        raise ValueError(f"--tls-ca, --tls-cert and --tls-key are not usable together: {error}") from None


def _security(settings: Settings) -> Any:
    """What Dask is to encrypt with; None where the address does not ask for it."""
    if settings.tls_ca is None:
        return None
    from distributed import Security  # noqa: PLC0415 - as above

    return Security(  # type: ignore[no-untyped-call]
        tls_ca_file=str(settings.tls_ca),
        tls_client_cert=str(settings.tls_cert),
        tls_client_key=str(settings.tls_key),
        require_encryption=True,
    )
