"""What an operator may set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from service import lock
from service.settings import Settings
from workers.references import Root

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_keys_are_asked_for_on_loopback_only_if_wanted(host: str) -> None:
    assert Settings(host=host).host == host
    assert [Settings(host=host, keys=keys).keys_required for keys in ("auto", "on", "off")] == [False, True, False]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org"])
def test_keys_are_asked_for_on_every_other_address(host: str) -> None:
    assert [Settings(host=host, keys=keys).keys_required for keys in ("auto", "on")] == [True, True]
    with pytest.raises(ValidationError, match="without API keys, whoever reaches host"):
        Settings(host=host, keys="off")


def test_variables_set_what_the_command_line_does_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ORDSIM_ROOTS", f'{{"lab": "{tmp_path}"}}')
    monkeypatch.setenv("ORDSIM_WORKERS", "3")
    monkeypatch.setenv("ORDSIM_STAGING_DIRECTORY", "elsewhere")  # for workers; no business of the service
    settings = Settings(workers=2)
    assert settings.workers == 2
    assert settings.known_roots() == {"lab": Root("lab", str(tmp_path.resolve()))}


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"roots": {"a/b": "."}}, "not usable"),
        ({"roots": {"lab": "/no/such/place"}}, "not a directory"),
        ({"host": ""}, "empty"),
        ({"keys": "perhaps"}, "'auto', 'on' or 'off'"),
        ({"max_queued": 0}, "greater than or equal to 1"),
        ({"workers": 0}, "greater than or equal to 1"),
        ({"shard_seconds": 0}, "greater than 0"),
        ({"shard_seconds": float("nan")}, "finite"),
        ({"port": 70000}, "less than or equal"),
        ({"scheduler": "scheduler:8786"}, "no address of a scheduler"),
        ({"scheduler": "tcp://scheduler"}, "tls://HOST:PORT"),
        ({"scheduler": "http://scheduler:8786"}, "no address of a scheduler"),
        ({"scheduler": "tls://scheduler:8786"}, "needs --tls-ca, --tls-cert, --tls-key: .* `ordsim certs"),
        ({"scheduler": "tls://scheduler:8786", "tls_ca": "a", "tls_key": "b"}, "needs --tls-cert: "),
        (
            {"scheduler": "tls://a:1", "tls_ca": "/no", "tls_cert": "/no", "tls_key": "/no"},
            "--tls-ca /no: No such file",
        ),
        ({"scheduler": "tcp://127.0.0.1:8786", "tls_ca": "a"}, "certificates are for tls://"),
        ({"tls_key": "a"}, "certificates are for tls://"),
        ({"worker_memory": "much"}, "byte"),
        ({"worker_memory": "256MiB"}, "256.0 MiB is too little .* at least 512 MiB"),
        ({"worker_memory": 512 * 2**20 - 1}, "at least 512 MiB"),
    ],
)
def test_impossible_settings_are_refused(fields: dict[str, object], word: str) -> None:
    with pytest.raises(ValidationError, match=word):
        Settings(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(("written", "size"), [("8GiB", 8 * 2**30), ("2000000000", 2 * 10**9), ("1.5GB", 15 * 10**8)])
def test_memory_is_written_with_a_unit(monkeypatch: pytest.MonkeyPatch, written: str, size: int) -> None:
    monkeypatch.setenv("ORDSIM_WORKER_MEMORY", written)
    assert Settings().worker_memory == size


@pytest.mark.parametrize("scheduler", [None, "tcp://127.0.0.1:8786", "tcp://[::1]:8786", "tcp://localhost:8786"])
def test_a_scheduler_of_this_machine_needs_no_encryption(scheduler: str | None) -> None:
    assert Settings(scheduler=scheduler).scheduler == scheduler


@pytest.mark.parametrize(
    "scheduler", ["tcp://scheduler:8786", "tcp://192.0.2.1:8786", "tcp://user:word@127.0.0.1:1", "tcp://127.0.0.1:1#a"]
)
def test_a_scheduler_elsewhere_needs_encryption(scheduler: str) -> None:
    with pytest.raises(ValidationError, match="tls://"):
        Settings(scheduler=scheduler)


def test_a_state_directory_has_one_owner_at_a_time(tmp_path: Path) -> None:
    state = tmp_path / "state"
    refused = pytest.raises(lock.StateDirectoryInUseError, match=r"already in use.*process \d+")
    with lock.own(state), refused, lock.own(state):
        pytest.fail("two services own one directory")
    with lock.own(state):
        pass
