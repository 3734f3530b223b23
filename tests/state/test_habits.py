"""States by the habits of torch, Grain and Orbax, with the real libraries where they are installed."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.errors import ArgumentError, ClosedError
from state.pipelines import events


def declared() -> ps.Dataset:
    return ps.Dataset.range(60).shuffle(10).batch(4).prefetch(2)


@pytest.fixture
def stopped() -> Any:
    """An iteration in the middle, and what it would give next."""
    with declared().iterate() as it:
        events(it, 5)
        state = it.state()
        with declared().iterate(state=state) as other:
            rest = events(other, 99)
        yield it, rest


def test_given_torchs_names_then_an_iterator_goes_on_where_another_was(stopped: Any) -> None:
    it, rest = stopped
    with declared().iterate() as other:
        other.load_state_dict(it.state_dict())
        assert events(other, 99) == rest
        other.load_state_dict(it.state_dict())
        assert events(other, 99) == rest, "also when it has ended"
    with pytest.raises(ClosedError):
        other.load_state_dict(it.state_dict())


def test_given_grains_names_then_an_iterator_goes_on_where_another_was(stopped: Any) -> None:
    it, rest = stopped
    saved = it.get_state()
    assert isinstance(saved, bytes)
    with declared().iterate() as other:
        next(other)
        other.set_state(saved)
        assert events(other, 99) == rest


def test_given_a_state_of_another_pipeline_then_the_iterator_stays_as_it_was(stopped: Any) -> None:
    it, _ = stopped
    with ps.Dataset.range(9).iterate() as other:
        assert int(next(other)) == 0
        with pytest.raises(ArgumentError, match="another pipeline"):
            other.load_state_dict(it.state_dict())
        assert int(next(other)) == 1


def test_given_torch_then_its_files_hold_a_state(stopped: Any) -> None:
    torch = pytest.importorskip("torch")
    it, rest = stopped
    file = io.BytesIO()
    torch.save({"data": it.state_dict()}, file)
    file.seek(0)
    with declared().iterate(state=torch.load(file, weights_only=True)["data"]) as other:
        assert events(other, 99) == rest


@pytest.mark.filterwarnings("ignore")
def test_given_orbax_then_its_json_holds_a_state(stopped: Any, tmp_path: Path) -> None:
    ocp = pytest.importorskip("orbax.checkpoint")
    it, rest = stopped
    with ocp.Checkpointer(ocp.JsonCheckpointHandler()) as checkpointer:
        checkpointer.save(tmp_path / "saved", args=ocp.args.JsonSave(it.state()))
        state = checkpointer.restore(tmp_path / "saved", args=ocp.args.JsonRestore())
    with declared().iterate(state=state) as other:
        assert events(other, 99) == rest


@pytest.mark.filterwarnings("ignore")
def test_given_orbax_then_an_iterator_is_something_to_be_saved_by_it(stopped: Any, tmp_path: Path) -> None:
    pytest.importorskip("orbax.checkpoint")
    from orbax.checkpoint.experimental import v1 as ocp

    it, rest = stopped
    ocp.save_checkpointables(tmp_path / "saved", {"data": it})
    with declared().iterate() as other:
        ocp.load_checkpointables(tmp_path / "saved", {"data": other})
        assert events(other, 99) == rest


@pytest.mark.filterwarnings("ignore")
def test_given_grain_then_its_handler_takes_an_iterator(stopped: Any, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        handlers = pytest.importorskip("grain.python")
    it, rest = stopped
    handler = handlers.PyGrainCheckpointHandler()
    handler.save(tmp_path, item=it)
    with declared().iterate() as other:
        handler.restore(tmp_path, item=other)
        assert events(other, 99) == rest
