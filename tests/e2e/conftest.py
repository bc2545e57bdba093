"""Fixtures: the real arrays below a data root, and services on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from service_process import DATA, ServiceProcess

from workers.importing import import_file
from workers.references import Root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with every real array of the repository imported under its file name."""
    directory = tmp_path_factory.mktemp("lab")
    roots = {"lab": Root("lab", str(directory))}
    for source in sorted(DATA.glob("*/*.npy")):
        import_file(source, roots, "lab", source.stem)
    return directory


@pytest.fixture
def start_service(tmp_path: Path, lab: Path) -> Iterator[Callable[..., ServiceProcess]]:
    """Make services that are stopped, whatever the test did to them."""
    made: list[ServiceProcess] = []

    def make(**settings: str) -> ServiceProcess:
        made.append(ServiceProcess(tmp_path / f"state{len(made)}", lab, **settings))
        return made[-1]

    yield make
    for service in made:
        if service.process is not None and service.process.poll() is None:
            service.stop()
