"""Pipelines on a real Ray cluster of several nodes, in a process of its own; and what is said without Ray."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock as ps
from frameworks.running import names_in, outcomes

CHECKS = "../cluster/checks_ray.py"


@pytest.fixture(scope="module")
def folder() -> Iterator[str]:
    """Where this cluster has its files; the names of its sockets have to be short."""
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as name:
        yield name


@pytest.mark.slow
@pytest.mark.parametrize("check", names_in(CHECKS))
def test_on_a_cluster(check: str, folder: str) -> None:
    said = outcomes(CHECKS, RAY_TMPDIR=folder)[check]
    assert not said, said


def test_given_no_ray_then_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("ray", "ray.data"):
        monkeypatch.setitem(sys.modules, name, None)
    ds = ps.Dataset.range(3).map(lambda x: {"x": x})
    for call in (
        lambda: ds.distribute(workers=2),
        lambda: ds.write_tfrecord(tmp_path, shards=2, engine="ray"),
        lambda: ps.from_ray(None),
    ):
        with pytest.raises(ps.errors.PenstockError, match=r"pip install '\.\[ray\]'"):
            call()
    assert not list(tmp_path.iterdir())
