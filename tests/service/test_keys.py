"""API keys: what is kept of them, what they open, and the commands that make and end them."""

from __future__ import annotations

import itertools
import json
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from service import access, database, keyring, keys, lock
from service.access import ANYONE, Caller
from service.client import AsyncClient, Client
from service.commands import outcome
from service.commands.application import application
from service.keyring import RefusedKeyError, UnknownKeyError
from service.keys import UNLIMITED, Limits, Scope
from service.store import JobStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START = datetime(2026, 1, 1, tzinfo=UTC)
USUAL = (Scope.JOBS_READ, Scope.JOBS_WRITE)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[JobStore]:
    seconds = itertools.count()
    with closing(JobStore(tmp_path / "jobs.sqlite3", lambda: START + timedelta(seconds=next(seconds)))) as store:
        yield store


def test_the_store_keeps_the_hash_of_a_secret_alone(store: JobStore, tmp_path: Path) -> None:
    made, token = store.keys.create("mine", USUAL)
    identifier, secret = keys.split(token) or ("", "")
    assert identifier == made.id
    assert len(secret) == 43
    files = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert secret.encode() not in files
    assert keys.digest(secret).encode() in files


def test_a_key_comes_back_as_it_was_made(store: JobStore) -> None:
    limits = Limits(2, 3, 10**30)
    made, token = store.keys.create("mine", USUAL, limits, "2027-01-01T00:00:00.000Z")
    assert (made.label, made.scopes, made.limits, made.revoked) == ("mine", frozenset(USUAL), limits, None)
    assert store.keys.find(token) == made
    assert list(store.keys.all()) == [made]
    assert store.keys.active() == 1


def test_what_is_not_an_active_key_opens_nothing(store: JobStore) -> None:
    made, token = store.keys.create("", USUAL)
    other, _ = store.keys.create("", USUAL)
    secret = token.rpartition(f"{made.id}_")[2]
    wrong = secret[:-1] + ("A" if secret[-1] != "A" else "B")
    for text, reason in (
        (keys.token(made.id, wrong), "not known"),
        (keys.token(other.id, secret), "not known"),
        (keys.token("00000000", secret), "not known"),
        (keys.token("00000000", ""), "not an API key"),
        (secret, "not an API key"),
        (f"{token}\n", "not an API key"),
        ("", "not an API key"),
        ("ordsim_" + "x" * 100_000, "not an API key"),
    ):
        with pytest.raises(RefusedKeyError, match=reason) as refused:
            store.keys.find(text)
        assert secret not in str(refused.value)
    assert store.keys.find(token) == made


def test_revoked_and_expired_keys_say_so_to_who_has_them(store: JobStore) -> None:
    made, token = store.keys.create("", USUAL)
    revoked = store.keys.revoke(made.id)
    assert store.keys.revoke(made.id) == revoked  # the first time stands
    with pytest.raises(RefusedKeyError, match="is revoked"):
        store.keys.find(token)
    soon = (START + timedelta(seconds=30)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    _, token = store.keys.create("", USUAL, expires=soon)
    store.keys.find(token)
    for _ in range(30):  # the clock moves on by a second at every look
        store.keys.active()
    with pytest.raises(RefusedKeyError, match="is expired"):
        store.keys.find(token)
    assert store.keys.active() == 0
    with pytest.raises(UnknownKeyError):
        store.keys.revoke("nothing")


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("GET", "/livez", None),
        ("HEAD", "/readyz", None),
        ("GET", "/", None),
        ("GET", "/problems/forbidden", None),
        ("POST", "/livez", Scope.JOBS_WRITE),
        ("GET", "/metrics", Scope.METRICS),
        ("GET", "/v1/jobs", Scope.JOBS_READ),
        ("GET", "/v1/roots", Scope.JOBS_READ),
        ("POST", "/v1/plans", Scope.JOBS_READ),
        ("POST", "/v1/jobs", Scope.JOBS_WRITE),
        ("DELETE", "/v1/jobs/a", Scope.JOBS_WRITE),
        ("GET", "/livez/../v1/jobs", Scope.JOBS_READ),
        ("GET", "//livez", Scope.JOBS_READ),
        ("GET", "/whatever/comes", Scope.JOBS_READ),
        ("PATCH", "/whatever/comes", Scope.JOBS_WRITE),
    ],
)
def test_every_address_needs_a_scope_unless_it_is_open(method: str, path: str, scope: Scope | None) -> None:
    assert access.needed(method, path) is scope


def test_admin_may_everything_and_sees_everybody() -> None:
    admin = Caller("a", frozenset({Scope.ADMIN}), UNLIMITED)
    reader = Caller("b", frozenset({Scope.JOBS_READ}), UNLIMITED)
    assert all(admin.may(scope) and ANYONE.may(scope) for scope in Scope)
    assert [reader.may(scope) for scope in Scope] == [True, False, False, False]
    assert (admin.sees, reader.sees, ANYONE.sees) == (None, "b", None)


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["ordsim", *words])
    return outcome.run(application)


def test_commands_make_list_and_revoke(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ORDSIM_STATE_DIR", str(tmp_path / "state"))
    assert run(monkeypatch, "keys", "list") == 2
    assert "no job store" in capsys.readouterr().err
    assert run(monkeypatch, "keys", "create", "--label", "notebook", "--expires", "90d", "--queued", "5") == 0
    said = capsys.readouterr()
    token = said.out.strip()
    identifier, secret = keys.split(token) or ("", "")
    assert "shown once" in said.err
    assert secret not in said.err
    wanted = ["--scope", "metrics", "--running", "2", "--comparisons", "1e20", "--json"]
    assert run(monkeypatch, "keys", "create", *wanted) == 0
    made = json.loads(capsys.readouterr().out)
    assert re.fullmatch(keys.TOKEN, made["key"])
    assert made["scopes"] == ["metrics"]
    assert made["limits"] == {"queued": None, "running": 2, "comparisonsPerDay": str(10**20)}
    assert run(monkeypatch, "keys", "revoke", identifier) == 0
    capsys.readouterr()
    assert run(monkeypatch, "keys", "list", "--json") == 0
    said = capsys.readouterr()
    assert secret not in said.out
    assert [(key["label"], key["state"]) for key in json.loads(said.out)["keys"]] == [
        ("notebook", "revoked"),
        ("", "active"),
    ]
    assert run(monkeypatch, "keys", "list") == 0
    assert "notebook" in capsys.readouterr().out
    with keyring.opened(tmp_path / "state") as ring, pytest.raises(RefusedKeyError, match="revoked"):
        ring.find(token)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["create", "--expires", "2020-01-01"], "over already"),
        (["create", "--expires", "soon"], "90d"),
        (["create", "--comparisons", "0.5"], "whole number"),
        (["create", "--queued", "0"], "--queued"),
        (["create", "--scope", "everything"], "--scope"),
        (["revoke", "nothing"], "no key of this id"),
    ],
)
def test_commands_refuse_what_cannot_be(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    reason: str,
) -> None:
    monkeypatch.setenv("ORDSIM_STATE_DIR", str(tmp_path))
    JobStore(tmp_path / database.FILE).close()
    assert run(monkeypatch, "keys", *words) == 2
    assert reason in capsys.readouterr().err


def test_a_store_is_not_changed_under_a_service_of_an_earlier_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / database.FILE
    scripts = database.migrations()
    monkeypatch.setattr(database, "migrations", lambda: scripts[:-1])
    database.Database(path).close()
    monkeypatch.setattr(database, "migrations", lambda: scripts)
    with lock.own(tmp_path):
        with pytest.raises(lock.StateDirectoryInUseError), keyring.opened(tmp_path):
            pytest.fail("the store was migrated")
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA user_version").fetchone() == (len(scripts) - 1,)
    with keyring.opened(tmp_path) as ring:
        assert list(ring.all()) == []
    with lock.own(tmp_path), keyring.opened(tmp_path) as ring:  # of the same version: side by side
        ring.create("", USUAL)


@pytest.mark.parametrize("make", [Client, AsyncClient])
@pytest.mark.parametrize("key", ["ordsim_x_secret\nsecret", "ordsim_x_sécret", "two secret words"])
def test_a_client_refuses_what_cannot_be_a_key_without_showing_it(key: str, make: type) -> None:
    with pytest.raises(ValueError, match="the API key is not one word") as refused:
        make(key=key)
    assert "secret" not in repr(refused.value)
    assert refused.value.__context__ is None


def test_a_client_takes_a_key_from_a_file_with_a_line_end() -> None:
    with Client(key="ordsim_x_y\n") as client:
        assert "ordsim_x_y" not in repr(client) + repr(vars(client))


@pytest.mark.parametrize("make", [Client, AsyncClient])
def test_a_client_refuses_addresses_with_passwords(make: type) -> None:
    with pytest.raises(ValueError, match="no names or passwords") as refused:
        make("http://me:secret@127.0.0.1:8000")
    assert "secret" not in repr(refused.value)
