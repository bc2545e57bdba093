"""`ordsim certs`: what it makes fits together, is for its owner only, and is never overwritten."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from cryptography import x509

from service import certificates, clusters
from tests.service.commands import check_error

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.service.commands import Outcome


@pytest.fixture
def place(tmp_path: Path) -> Path:
    certificates.write(tmp_path / "certificates", certificates.make(days=30))
    return tmp_path / "certificates"


def test_certificates_are_signed_and_fit_their_keys(place: Path) -> None:
    authority = x509.load_pem_x509_certificate((place / "ca.pem").read_bytes())
    keys = set()
    for part in certificates.PARTS:
        one = x509.load_pem_x509_certificate((place / f"{part}.pem").read_bytes())
        one.verify_directly_issued_by(authority)
        clusters.require_certificates(
            "tls://scheduler:8786", place / "ca.pem", place / f"{part}.pem", place / f"{part}-key.pem"
        )
        keys.add((place / f"{part}-key.pem").read_bytes())
    assert len(keys) == len(certificates.PARTS)
    assert certificates.expiry(place) - datetime.now(UTC) > timedelta(days=29)
    with pytest.raises(ValueError, match="not usable together"):
        clusters.require_certificates("tls://a:1", place / "ca.pem", place / "worker.pem", place / "client-key.pem")
    with pytest.raises(ssl.SSLError):
        ssl.create_default_context(cafile=place / "ca.pem").load_cert_chain(place / "ca.pem", place / "client-key.pem")


def test_both_ends_must_show_a_certificate_of_the_authority(place: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    certificates.write(other, certificates.make(days=30))
    assert _shake_hands(place, place, "client") is None
    assert "certificate" in str(_shake_hands(place, other, "client")).lower()


def _shake_hands(servers: Path, clients: Path, part: str) -> ssl.SSLError | None:
    """Let two ends in memory greet each other; the error of the one that refuses."""
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for context, place, name in ((server, servers, "scheduler"), (client, clients, part)):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(place / "ca.pem")
        context.load_cert_chain(place / f"{name}.pem", place / f"{name}-key.pem")
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(back, there), server.wrap_bio(there, back, server_side=True)]
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError as error:
                return error
    return None


def test_files_are_for_their_owner_only_and_are_kept(ordsim: Callable[..., Outcome], tmp_path: Path) -> None:
    place = tmp_path / "certificates"
    assert ordsim("certs", place).returncode == 0
    assert sorted(path.name for path in place.iterdir()) == sorted(certificates.FILES)
    assert "ca-key.pem" not in certificates.FILES
    assert {path.stat().st_mode & 0o777 for path in place.iterdir()} == {0o600}
    assert place.stat().st_mode & 0o777 == 0o700
    before = {path: path.read_bytes() for path in place.iterdir()}
    check_error(ordsim("certs", place), 2, "ca.pem", "not overwritten")
    assert ordsim("certs", place, "--keep").returncode == 0
    assert {path: path.read_bytes() for path in place.iterdir()} == before
    (place / "worker.pem").unlink()
    check_error(ordsim("certs", place, "--keep"), 2, "not overwritten")
    (tmp_path / "file").write_text("")
    check_error(ordsim("certs", tmp_path / "file" / "below"), 2, "Not a directory")


def test_certificates_that_ended_are_not_kept(ordsim: Callable[..., Outcome], tmp_path: Path) -> None:
    certificates.write(tmp_path / "old", certificates.make(days=0))
    check_error(ordsim("certs", tmp_path / "old", "--keep"), 2, "ended on", "remove them")
