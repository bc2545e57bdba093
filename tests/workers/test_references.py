"""From a client's name to an array: what leads out, what is not there, and what metadata may claim."""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numcodecs
import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from zarr_cases import BASE, DIALECTS, edit

from workers import metadata, references
from workers.arrays import open_matrix
from workers.errors import ProblemError
from workers.identifiers import read_identifiers
from workers.importing import import_file
from workers.references import Reference, RowRange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from zarr_cases import Lab

HOSTILE = [
    "",
    "/",
    "//",
    ".",
    "..",
    "../outside/secret.zarr",
    "base/../../outside/secret.zarr",
    "base/./x.zarr",
    "base//x.zarr",
    "base/",
    "/etc/passwd",
    "%2e%2e/outside/secret.zarr",
    "base%2fx.zarr",
    "base\x00/../../outside",
    "base\n",
    "base\x1b[31m",
    "base\u202exslr",
    "..\\outside\\secret.zarr",
    "file:///etc/passwd",
    "http://169.254.169.254/latest/x.zarr",
    "http://2130706433/x.zarr",
    "s3://bucket/x.zarr",
    "gs://bucket/x",
    "memory://x",
    "github://o:r@/x",
    "simplecache::http://127.0.0.1/x.zarr",
    "zip::file",
    "\ud800",
    "a" * 5000,
    "a/" * 3000 + "a",
]


def describe(lab: Lab, path: str, rows: RowRange | None = None, name: str = "x") -> references.ArrayDescription:
    return references.describe_matrix(lab.roots, Reference("lab", path, rows), name)


def problem(lab: Lab, path: str, rows: RowRange | None = None, name: str = "x") -> ProblemError:
    """The refusal of a reference, which never tells where the root is."""
    with pytest.raises(ProblemError) as caught:
        describe(lab, path, rows, name)
    assert str(lab.directory) not in str(caught.value)
    assert str(lab.directory.parent) not in str(caught.value)
    return caught.value


# ---- paths


@pytest.mark.parametrize("path", ["x", "x.zarr", "a/b/c", "layer 1/x y", "größe/日本", "...", "a..b", "c:", "-x", "~"])
def test_plain_names_lead_below_the_root(lab: Lab, path: str) -> None:
    assert references.resolve(lab.roots, "lab", path) == lab.directory / path


@pytest.mark.parametrize("path", HOSTILE)
def test_hostile_paths_are_refused(lab: Lab, path: str) -> None:
    found = problem(lab, path, name="y")
    too_long = len(path) > 1000
    assert found.slug == ("unknown-array" if too_long else "path-outside-root")
    assert found.origin == "request"
    assert found.pointer == "/y/path"
    with pytest.raises(ProblemError):
        references.list_arrays(lab.roots, "lab", path + "//")


def test_an_absolute_path_is_refused_even_into_the_root(lab: Lab) -> None:
    path = lab.write("base", BASE)
    with pytest.raises(ProblemError, match="path-outside-root"):
        describe(lab, str(path))


def test_links_out_of_the_root_are_refused_alike_whether_or_not_the_target_exists(lab: Lab) -> None:
    (lab.outside / "secret.zarr").mkdir()
    links = {
        "existing": "../outside/secret.zarr",
        "dangling": "../outside/nothing.zarr",
        "root": "/",
        "folder": "../outside",
    }
    for name, target in links.items():
        (lab.directory / name).symlink_to(target)
    paths = [*links, "folder/secret.zarr", "folder/nothing.zarr", "root/etc/passwd", "../outside/secret.zarr"]
    refused = [problem(lab, path) for path in paths]
    assert {found.slug for found in refused} == {"path-outside-root"}
    assert len({found.args for found in refused}) == 1


def test_the_name_of_a_root_is_no_prefix(lab: Lab) -> None:
    sibling = lab.directory.parent / "lab-private"
    sibling.mkdir()
    (lab.directory / "link").symlink_to(sibling)
    assert problem(lab, "link").slug == "path-outside-root"


def test_links_within_the_root_are_followed(lab: Lab) -> None:
    lab.write("base", BASE)
    (lab.directory / "latest").symlink_to("base")
    assert describe(lab, "latest").shape == (8, 4)


def test_a_root_may_itself_be_a_link(lab: Lab) -> None:
    lab.write("base", BASE)
    link = lab.directory.parent / "alias"
    link.symlink_to(lab.directory)
    roots = {"lab": references.Root("lab", str(link))}
    assert references.describe_matrix(roots, Reference("lab", "base"), "x").shape == (8, 4)


def test_metadata_linked_from_outside_is_refused(lab: Lab) -> None:
    secret = lab.write("base", BASE).rename(lab.outside / "secret")
    (lab.directory / "thief").mkdir()
    (lab.directory / "thief" / "zarr.json").symlink_to(secret / "zarr.json")
    assert problem(lab, "thief").slug == "path-outside-root"
    assert references.list_arrays(lab.roots, "lab") == []


def test_loops_of_links_are_refused(lab: Lab) -> None:
    (lab.directory / "a").symlink_to("b")
    (lab.directory / "b").symlink_to("a")
    assert problem(lab, "a").slug in ("path-outside-root", "unknown-array")
    assert problem(lab, "a/x").slug in ("path-outside-root", "unknown-array")


def test_unknown_roots_are_named(lab: Lab) -> None:
    with pytest.raises(ProblemError, match="no data root named 'elsewhere'") as caught:
        references.describe_matrix(lab.roots, Reference("elsewhere", "x"), "y")
    assert (caught.value.slug, caught.value.pointer) == ("unknown-root", "/y/root")
    with pytest.raises(ProblemError, match="unknown-root"):
        references.list_arrays(lab.roots, "../lab")


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, or the refusal that it raises; any other exception is an error."""
    try:
        return call()
    except ProblemError as error:
        return error


fragments = st.sampled_from(
    [
        "..",
        ".",
        "/",
        "//",
        "\\",
        "%2e",
        "\0",
        "://",
        "::",
        "link",
        "out",
        "loop",
        "base",
        "c",
        "zarr.json",
        " ",
        "http:",
    ]
)
paths = st.one_of(st.text(max_size=60), st.lists(st.one_of(fragments, st.text(max_size=4)), max_size=12).map("".join))


@given(path=paths)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_string_resolves_inside_or_is_refused(lab: Lab, path: str) -> None:
    if not (lab.directory / "base").exists():
        lab.write("base", BASE)
        (lab.directory / "link").symlink_to("base")
        (lab.directory / "out").symlink_to("../outside")
        (lab.directory / "loop").symlink_to("loop")
    place = outcome(lambda: references.resolve(lab.roots, "lab", path))
    if isinstance(place, ProblemError):
        assert place.slug == "path-outside-root"
    else:
        assert place.is_relative_to(lab.directory)
        assert place != lab.directory
    found = outcome(lambda: describe(lab, path))
    if isinstance(found, ProblemError):
        assert found.slug in ("path-outside-root", "unknown-array")
    else:
        assert found.shape == (8, 4)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def test_nothing_connects_to_the_addresses_in_references(lab: Lab, listener: socket.socket, tmp_path: Path) -> None:
    port = listener.getsockname()[1]
    with socket.create_connection(listener.getsockname()):
        listener.accept()[0].close()  # the listener would notice
    np.save(tmp_path / "source.npy", BASE)
    for path in (
        f"http://127.0.0.1:{port}/x.zarr",
        f"http:/127.0.0.1:{port}/x.zarr",
        f"simplecache::http://127.0.0.1:{port}/x.zarr",
        f"ftp://127.0.0.1:{port}/x.zarr",
        f"127.0.0.1:{port}/x.zarr",
        f"//127.0.0.1:{port}/x.zarr",
    ):
        reference = Reference("lab", path)
        for call in (
            lambda reference=reference: references.describe_matrix(lab.roots, reference, "x"),
            lambda reference=reference: open_matrix(lab.roots, reference, "x", "fill"),
            lambda reference=reference: read_identifiers(lab.roots, reference, "x"),
        ):
            with pytest.raises(ProblemError):
                call()
        if "://" in path:
            with pytest.raises(ProblemError):
                references.list_arrays(lab.roots, "lab", path)
            with pytest.raises(ProblemError):
                import_file(tmp_path / "source.npy", lab.roots, "lab", path)
    with pytest.raises(BlockingIOError):
        listener.accept()


# ---- what stands there


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_described(lab: Lab, dialect: str) -> None:
    options = DIALECTS[dialect]
    lab.write("x", BASE, **options)
    found = describe(lab, "x")
    assert found == references.ArrayDescription(
        "x", (8, 4), "float32", options["chunks"], options.get("shards"), options.get("zarr_format", 3)
    )


def test_where_there_is_nothing(lab: Lab) -> None:
    (lab.directory / "folder").mkdir()
    (lab.directory / "file.npy").write_bytes(b"x")
    for path in ("nope/x.zarr", "folder", "file.npy", "file.npy/x"):
        found = problem(lab, path)
        assert (found.slug, found.pointer) == ("unknown-array", "/x/path")
        assert found.detail == f"There is no zarr array at x (lab:{path})."


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_group_is_answered_with_its_members(lab: Lab, zarr_format: Any) -> None:
    group = zarr.open_group(lab.directory / "acts.zarr", mode="w", zarr_format=zarr_format)
    group.attrs["kind"] = "array"
    for member in range(15):
        lab.write(f"acts.zarr/layer {member:02}/x", BASE, zarr_format=zarr_format)
    assert describe(lab, "acts.zarr/layer 03/x").shape == (8, 4)
    found = problem(lab, "acts.zarr")
    assert found.slug == "unknown-array"
    assert found.detail.startswith("x (lab:acts.zarr) is a group, not an array. Name one of the arrays below it: ")
    assert found.detail.count("'layer ") == references.MEMBERS_SHOWN
    assert "'layer 00/x', 'layer 01/x', " in found.detail
    assert found.detail.endswith("'layer 09/x', ....")


def test_a_folder_of_arrays_is_no_group(lab: Lab) -> None:
    lab.write("folder/x", BASE)
    found = problem(lab, "folder")
    assert found.detail == ("There is no zarr array at x (lab:folder). Name one of the arrays below it: 'x'.")


def test_an_empty_group_has_nothing_to_name(lab: Lab) -> None:
    zarr.open_group(lab.directory / "empty", mode="w")
    assert problem(lab, "empty").detail == "x (lab:empty) is a group, not an array."


def test_two_documents_are_ambiguous(lab: Lab) -> None:
    lab.write("x", BASE)
    lab.write("old", BASE * 2, zarr_format=2)
    (lab.directory / "old" / ".zarray").rename(lab.directory / "x" / ".zarray")
    found = problem(lab, "x")
    assert (found.slug, found.pointer) == ("corrupt-data", "/x/path")
    assert "zarr.json" in found.detail
    assert ".zarray" in found.detail


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        ((8,), "must be 2-D, rows by features, but is 1-D with shape (8,)"),
        ((), "must be 2-D, rows by features, but is 0-D"),
        ((8, 2, 2), "but is 3-D with shape (8, 2, 2). Pool or flatten everything but the first axis"),
        ((4, 2, 2, 2), "values.reshape(len(values), -1)"),
        ((8, 0), "has no features"),
    ],
)
def test_only_matrices_are_compared(lab: Lab, shape: tuple[int, ...], says: str) -> None:
    lab.write("x", np.zeros(shape, np.float32))
    found = problem(lab, "x")
    assert found.slug == "not-a-matrix"
    assert says in found.detail


def test_a_matrix_without_rows_is_described(lab: Lab) -> None:
    lab.write("x", BASE[:0], chunks=(1, 4))
    assert describe(lab, "x").shape == (0, 4)


UNSUPPORTED: dict[str, tuple[Any, int, str]] = {
    "complex": (BASE.astype(np.complex64), 3, "complex64"),
    "complex-2": (BASE.astype(np.complex128), 2, "complex128"),
    "string": (BASE.astype("U4"), 3, "fixed_length_utf32"),
    "string-2": (BASE.astype("U4"), 2, "str128"),
    "bytes-2": (BASE.astype("S4"), 2, "bytes32"),
    "record": (np.zeros(8, [("a", "<f4"), ("b", "<i4")]), 3, "struct"),
    "record-2": (np.zeros(8, [("a", "<f4"), ("b", "<i4")]), 2, "structured"),
    "date": (np.zeros((8, 4), "M8[s]"), 3, "numpy.datetime64"),
    "date-2": (np.zeros((8, 4), "M8[s]"), 2, "datetime64[s]"),
    "duration": (np.zeros((8, 4), "m8[s]"), 3, "numpy.timedelta64"),
}


@pytest.mark.parametrize("case", UNSUPPORTED)
def test_unsupported_types_are_refused_by_name(lab: Lab, case: str) -> None:
    values, zarr_format, dtype = UNSUPPORTED[case]
    lab.write("x", values.reshape(8, -1), zarr_format=zarr_format)
    found = problem(lab, "x")
    assert (found.slug, found.origin, found.pointer) == ("unsupported-dtype", "request", "/x/path")
    assert f"has dtype {dtype}" in found.detail
    assert "float32" in found.detail


@pytest.mark.parametrize(
    ("zarr_format", "member", "dtype"),
    [
        (3, "data_type", "bfloat16"),
        (3, "data_type", "float8_e4m3"),
        (3, "data_type", "r16"),
        (3, "data_type", "string"),
        (2, "dtype", "bfloat16"),
        (2, "dtype", "|O"),
        (2, "dtype", "<f16"),
        (2, "dtype", "f4,f4"),
        (2, "dtype", "(2,2)f4"),
        (2, "dtype", "|V2"),
    ],
)
def test_types_that_zarr_does_not_write_here_are_refused_too(
    lab: Lab, zarr_format: int, member: str, dtype: str
) -> None:
    edit(lab.write("x", BASE, zarr_format=zarr_format), **{member: dtype})
    assert problem(lab, "x").slug == "unsupported-dtype"


# ---- what metadata may claim


@pytest.mark.parametrize("codec", ["pickle", "json2", "msgpack2", "vlen-array", "categorize", "unheard-of"])
@pytest.mark.parametrize("member", ["filters", "compressor"])
def test_codecs_of_format_2_that_do_more_than_decode_are_refused(lab: Lab, codec: str, member: str) -> None:
    entry = {"id": codec}
    edit(lab.write("x", BASE, zarr_format=2), **{member: [entry] if member == "filters" else entry})
    found = problem(lab, "x")
    assert (found.slug, found.origin, found.pointer) == ("unsupported-codec", "request", "/x/path")
    assert repr(codec) in found.detail


def codec(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


RAW = codec("bytes", endian="little")
SHARDING = codec("sharding_indexed", chunk_shape=[2, 4], codecs=[RAW], index_codecs=[RAW])
REFUSED_CODECS = {
    "numcodecs": [RAW, codec("numcodecs.pickle")],
    "unknown": [RAW, codec("unheard-of")],
    "inside a shard": [codec("sharding_indexed", chunk_shape=[2, 4], codecs=[RAW, codec("x")], index_codecs=[RAW])],
    "nested shards": [codec("sharding_indexed", chunk_shape=[4, 4], codecs=[SHARDING], index_codecs=[RAW])],
    "encoded shards": [SHARDING, codec("gzip", level=1)],
    "transposed shards": [codec("transpose", order=[1, 0]), SHARDING],
}


@pytest.mark.parametrize("case", REFUSED_CODECS)
def test_codecs_of_format_3_outside_the_list_are_refused(lab: Lab, case: str) -> None:
    edit(lab.write("x", BASE), codecs=REFUSED_CODECS[case])
    assert problem(lab, "x").slug == "unsupported-codec"


def test_an_object_array_of_pickles_is_never_opened(lab: Lab) -> None:
    ran = lab.outside / "ran"

    class Payload:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(ran),)

    path = lab.write("x", np.arange(3), zarr_format=2)
    (path / "0").write_bytes(numcodecs.Pickle().encode(np.array([Payload()], object)))
    edit(path, dtype="|O", filters=[{"id": "pickle", "protocol": 5}], compressor=None, fill_value=None)
    assert problem(lab, "x").slug == "unsupported-codec"
    with pytest.raises(ProblemError, match="unsupported-codec"):
        read_identifiers(lab.roots, Reference("lab", "x"), "x")
    with pytest.raises(ProblemError, match="unsupported-codec"):
        open_matrix(lab.roots, Reference("lab", "x"), "x", "fill")
    assert not ran.exists()


def grid(*shape: int) -> dict[str, Any]:
    return {"name": "regular", "configuration": {"chunk_shape": list(shape)}}


OVER_LIMIT: dict[str, tuple[dict[str, Any], str]] = {
    "chunks": ({"shape": [1_000_000, 8], "chunk_grid": grid(1, 1)}, "8000000 chunks for 32000000 bytes"),
    "rows": ({"shape": [2**31, 4], "chunk_grid": grid(2**20, 4)}, "2147483648 rows"),
    "columns": ({"shape": [8, 2**20 + 1], "chunk_grid": grid(8, 1024)}, "1048577 values a row"),
    "chunk bytes": ({"shape": [2**27, 4], "chunk_grid": grid(2**27, 4)}, "chunks of 2147483648 bytes"),
    "chunk bytes of a tiny array": ({"chunk_grid": grid(2**40, 2**40)}, "chunks of"),
    "shard bytes": ({"shape": [8, 4], "chunk_grid": grid(2**34, 4), "codecs": [SHARDING]}, "shards of"),
}


@pytest.mark.parametrize("case", OVER_LIMIT)
def test_sizes_beyond_limits_are_refused_at_once(lab: Lab, case: str) -> None:
    changes, says = OVER_LIMIT[case]
    edit(lab.write("x", BASE, chunks=(2, 4)), **changes)
    started = time.monotonic()
    found = problem(lab, "x")
    assert time.monotonic() - started < 2
    assert (found.slug, found.pointer) == ("over-limit", "/x/path")
    assert says in found.detail


def test_a_document_of_any_length_is_not_read(lab: Lab) -> None:
    path = lab.write("x", BASE)
    with (path / "zarr.json").open("r+b") as file:
        file.truncate(10**12)  # sparse
    assert problem(lab, "x").slug == "over-limit"


DAMAGED = {
    "empty": b"",
    "not JSON": b"{",
    "not text": b"\xff\xfe\x00",
    "null": b"null",
    "list": b"[]",
    "number": b"3",
    "empty object": b"{}",
    "deep": b"[" * 100_000,
    "long number": b'{"zarr_format": ' + b"9" * 10_000 + b"}",
}


@pytest.mark.parametrize("case", DAMAGED)
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_documents_that_are_no_metadata(lab: Lab, case: str, zarr_format: int) -> None:
    path = lab.write("x", BASE, zarr_format=zarr_format)
    (path / ("zarr.json" if zarr_format == 3 else ".zarray")).write_bytes(DAMAGED[case])
    assert problem(lab, "x").slug == "corrupt-data"
    assert references.list_arrays(lab.roots, "lab") == []


SCALARS = [None, True, -1, 0, 3, 10**30, 1.5, "", "x", [], {}, [-1, 4], [0, 0], [8], ["8", 4], [10**30, 1], {"name": 3}]


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON document."""
    if path:
        yield path
    if isinstance(document, dict | list):
        for key in document if isinstance(document, dict) else range(len(document)):
            yield from places(document[key], (*path, key))


@pytest.mark.parametrize("dialect", ["plain", "v3-shards", "v2-shuffle"])
def test_no_single_lie_in_the_metadata_brings_more_than_a_refusal(lab: Lab, dialect: str) -> None:
    path = lab.write("x", BASE, **DIALECTS[dialect])
    document = path / ("zarr.json" if (path / "zarr.json").exists() else ".zarray")
    whole = document.read_text()
    refused = 0
    for place in list(places(json.loads(whole))):
        for value in [*SCALARS, "absent"]:
            lie = json.loads(whole)
            target = lie
            for step in place[:-1]:
                target = target[step]
            if value == "absent":
                del target[place[-1]]
            else:
                target[place[-1]] = value
            document.write_text(json.dumps(lie))
            found = outcome(lambda: describe(lab, "x"))
            if isinstance(found, ProblemError):
                refused += 1
                assert len(found.detail) < 2000
    assert refused > 100


# ---- rows


@pytest.mark.parametrize("rows", [(-1, 3), (3, 3), (5, 2), (0, 9), (8, 9), (-5, -2), (0, 2**70)])
def test_rows_outside_the_array_are_refused(lab: Lab, rows: tuple[int, int]) -> None:
    lab.write("x", BASE)
    found = problem(lab, "x", RowRange(*rows), "y")
    assert (found.slug, found.pointer) == ("invalid-request", "/y/rows")
    assert "which has 8 rows" in found.detail


@pytest.mark.parametrize("rows", [(0, 8), (0, 1), (7, 8), (2, 5)])
def test_rows_within_the_array_are_fine(lab: Lab, rows: tuple[int, int]) -> None:
    lab.write("x", BASE)
    assert describe(lab, "x", RowRange(*rows)).shape == (8, 4)


# ---- listings


def listed(lab: Lab, prefix: str = "", limit: int = 1000) -> list[str]:
    return [array.path for array in references.list_arrays(lab.roots, "lab", prefix, limit)]


def test_arrays_are_listed_in_order(lab: Lab) -> None:
    expected = ["a/one", "a/two words", "b.zarr", "c/d/e"]
    for path in reversed(expected):
        lab.write(path, BASE, zarr_format=2 if path == "b.zarr" else 3)
    assert listed(lab) == expected
    assert listed(lab, "a") == ["a/one", "a/two words"]
    assert listed(lab, "a/") == ["a/one", "a/two words"]
    assert listed(lab, "a/one") == ["a/one"]
    assert listed(lab, "nothing") == []
    assert listed(lab, limit=2) == expected[:2]
    first = references.list_arrays(lab.roots, "lab")[0]
    assert (first.shape, first.dtype, first.zarr_format) == ((8, 4), "float32", 3)


def test_consolidated_groups_are_looked_into(lab: Lab) -> None:
    group = zarr.open_group(lab.directory / "group", mode="w", zarr_format=2)
    group.attrs["type"] = "array"
    lab.write("group/x", BASE, zarr_format=2)
    lab.write("other/x", BASE)
    (lab.directory / "other" / "zarr.json").write_text(
        json.dumps(
            {
                "zarr_format": 3,
                "node_type": "group",
                "attributes": {},
                "consolidated_metadata": {"metadata": {"x": {"node_type": "array"}}},
            }
        )
    )
    assert listed(lab) == ["group/x", "other/x"]
    assert "'x'" in problem(lab, "other").detail


def test_listings_leave_out_what_cannot_be_used(lab: Lab) -> None:
    lab.write("good", BASE)
    lab.write(".hidden/x", BASE)
    secret = lab.write("secret", BASE).rename(lab.outside / "secret")
    (lab.directory / "out").symlink_to(secret)
    (lab.directory / "outer").symlink_to(lab.outside)
    (lab.directory / "loop").symlink_to("loop")
    (lab.directory / "up").symlink_to(".")
    (lab.directory / "good again").symlink_to("good")
    edit(lab.write("pickled", BASE), codecs=[codec("numcodecs.pickle")])
    edit(lab.write("huge", BASE), chunk_grid=grid(2**40, 2**40))
    (lab.directory / "file").write_text("zarr.json")
    lab.write("z", BASE)
    assert listed(lab) == ["good", "z"]


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.ESTALE])
@pytest.mark.parametrize("method", ["open", "is_file"])
def test_storage_that_refuses_is_not_called_corrupt(
    lab: Lab, method: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.write("x", BASE)
    original = getattr(Path, method)

    def failing(self: Path, *arguments: Any, **options: Any) -> Any:
        if self.name == "zarr.json":
            raise OSError(code, os.strerror(code), str(self))
        return original(self, *arguments, **options)

    monkeypatch.setattr(Path, method, failing)
    with pytest.raises(ProblemError) as caught:
        references.describe_matrix(lab.roots, Reference("lab", "x"), "x")
    assert (caught.value.slug, caught.value.origin) == ("storage-unavailable", "system")
    assert os.strerror(code) in caught.value.detail
    assert str(lab.directory) not in str(caught.value)


def test_metadata_that_goes_while_it_is_looked_for_is_no_array(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.write("x", BASE)
    find = metadata.find_document

    def going(*arguments: Any) -> Any:
        document = find(*arguments)
        if document is not None:
            document.unlink()
        return document

    monkeypatch.setattr(metadata, "find_document", going)
    with pytest.raises(ProblemError, match="unknown-array"):
        references.describe_matrix(lab.roots, Reference("lab", "x"), "x")
