"""Whatever is wrong with a file, looking at it ends with a finding, and never with a traceback."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import penstock as ps
from cli.inspected import look
from contract.frames import framed
from penstock.cli.inspecting.show import Style, show_finding


def records() -> bytes:
    return framed(*[ps.io.serialize_example({"x": [i], "s": [b"ab" * i]}) for i in range(20)])


def table(write: Any) -> bytes:
    out = io.BytesIO()
    write(pa.table({"a": list(range(50)), "s": ["text"] * 50, "l": [[0.5], []] * 25}), out)
    return out.getvalue()


def stream(rows: Any, out: Any, maker: Any) -> None:
    with maker(out, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=20)


def archive() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made:
        for i in range(3):
            member = tarfile.TarInfo(f"{i}.txt")
            member.size = 5
            made.addfile(member, io.BytesIO(b"hello"))
    return out.getvalue()


def arrays() -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, a=np.arange(200), b=np.ones((3, 2)))
    return out.getvalue()


FILES = {
    "a.tfrecord": records(),
    "b.tfrecord": gzip.compress(records()),
    "a.parquet": table(pq.write_table),
    "a.arrow": table(lambda rows, out: stream(rows, out, ipc.new_file)),
    "a.arrows": table(lambda rows, out: stream(rows, out, ipc.new_stream)),
    "a.tar": archive(),
    "a.npz": arrays(),
    "a.csv": b"a,b\n" + b'1,"x"\n' * 20,
    "a.jsonl": b'{"a": [1, null], "b": "x"}\n' * 20,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=40, deadline=None)
@example([(718, 1)], None)  # a member of an archive that begins before the file does
@given(
    st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(1, 255)), max_size=3),
    st.one_of(st.none(), st.integers(1, 1 << 16)),
)
def test_given_wrong_bytes_and_cuts_then_there_is_a_finding(
    folder: Path, name: str, wrong: list[tuple[int, int]], size: int | None
) -> None:
    data = bytearray(FILES[name])
    for place, bits in wrong:
        data[place % len(data)] ^= bits
    if size is not None:
        data = data[: size % len(data) + 1]
    (folder / name).write_bytes(data)
    (found,) = look(folder / name)
    assert found.status in (0, 1, 2)
    assert (found.status == 1) == (not found.error and len(found.damage) > 0)
    assert str(folder / name) in show_finding(found, Style(colours=False))
    json.dumps(found.as_json(), allow_nan=False)


@pytest.mark.parametrize("name", FILES)
def test_given_the_files_as_they_were_written_then_there_is_no_damage(folder: Path, name: str) -> None:
    (folder / name).write_bytes(FILES[name])
    (found,) = look(folder / name)
    assert (found.status, found.damage) == (0, [])
