"""Certificates for a Dask cluster: an authority of its own, and one certificate for each part.

The authority's key is forgotten at once: with it, anybody could make further certificates.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

AUTHORITY = "ca"
PARTS = ("scheduler", "worker", "client")
"""Who has a certificate; the service is a client."""
FILES = (f"{AUTHORITY}.pem", *(f"{part}{ending}" for part in PARTS for ending in (".pem", "-key.pem")))

CLOCKS = timedelta(minutes=10)
"""How far the clocks of the parts may be apart."""


def make(days: int) -> dict[str, bytes]:
    """Make the contents of all `FILES`, valid from now for so many days."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("ordsim authority")
    authority = (
        _begin(name, name, key, days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signing_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    found = {f"{AUTHORITY}.pem": authority.public_bytes(serialization.Encoding.PEM)}
    for part in PARTS:
        own = ec.generate_private_key(ec.SECP256R1())
        # Parts are servers and clients of each other; Dask looks at the authority, not at names of hosts.
        signed = (
            _begin(_name(f"ordsim {part}"), name, own, days)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signing_certificates=False), critical=True)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                critical=False,
            )
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(part), x509.DNSName("localhost")]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        found[f"{part}.pem"] = signed.public_bytes(serialization.Encoding.PEM)
        found[f"{part}-key.pem"] = own.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    return found


def present(directory: Path) -> list[str]:
    """Which of the files are in a directory."""
    return [name for name in FILES if os.path.lexists(directory / name)]


def write(directory: Path, contents: Mapping[str, bytes]) -> None:
    """Write the files, readable for this user alone; FileExistsError rather than overwrite one."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, data in contents.items():
        handle = os.open(directory / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)


def expiry(directory: Path) -> datetime:
    """When the first of the certificates ends; ValueError if one is none."""
    return min(
        x509.load_pem_x509_certificate((directory / f"{part}.pem").read_bytes()).not_valid_after_utc
        for part in (AUTHORITY, *PARTS)
    )


def _begin(name: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: int) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCKS)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _usage(signing_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signing_certificates,
        key_cert_sign=signing_certificates,
        crl_sign=signing_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
