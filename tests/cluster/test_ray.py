"""Pipelines on a real Ray cluster of several nodes, in a process of its own; and what is refused before."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import penstock as ps
from frameworks.running import names_in, outcomes

CHECKS = "../cluster/checks_ray.py"


@pytest.mark.slow
@pytest.mark.parametrize("check", names_in(CHECKS))
def test_on_a_cluster(check: str) -> None:
    said = outcomes(CHECKS, RAY_DEDUP_LOGS="0")[check]
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
        with pytest.raises(ps.errors.PenstockError, match=r"pip install 'penstock\[ray\]'"):
            call()
    assert not list(tmp_path.iterdir())
