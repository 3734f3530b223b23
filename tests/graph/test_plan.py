"""How the ops of a plan are called: by their own names, or by those that the user gave them."""

from __future__ import annotations

import atexit
import functools
import inspect
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

import penstock as ps
from penstock.graph.fingerprint import fingerprint
from penstock.graph.passes import plan_of


def labels(ds: ps.Dataset) -> list[str]:
    return list(plan_of(ds.op, ds.options()).labels().values())


def picky(x: Any) -> Any:
    if x == 2:
        raise ValueError("not two")
    return x


def test_given_names_then_the_report_and_explain_use_them() -> None:
    ds = ps.Dataset.range(6, name="numbers").map(lambda x: x * 2, name="double").batch(3)
    with ds.iterate() as it:
        list(it)
        report = it.report()
    assert [(op.name, op.elements) for op in report.ops] == [("numbers", 6), ("double", 6), ("batch", 2)]
    assert any(line.startswith("double ") for line in str(report).splitlines())
    explained = ds.explain()
    assert [op["op"] for op in explained.as_dict()["declared"]] == ["numbers", "double", "batch"]
    assert "map(<lambda>, name='double')" in explained


@pytest.mark.parametrize("optimize", [True, False])
def test_given_a_name_when_a_function_fails_then_the_error_uses_it(optimize: bool) -> None:
    ds = ps.Dataset.range(5).map(picky, name="parse").map(lambda x: x + 1).shuffle(5, seed=1)
    with pytest.raises(ps.errors.FunctionError, match=r"^parse at .*test_plan\.py:\d+: .*") as caught:
        list(ds.with_options(ps.Options(optimize=optimize)))
    assert caught.value.op == "parse"


def test_given_maps_that_run_as_one_then_each_keeps_its_name() -> None:
    ds = ps.Dataset.range(6).map(lambda x: x + 1, name="first").map(lambda x: x * 2, name="second")
    assert "name='first') and map(<lambda>, name='second') run as one" in ds.explain()
    with ds.iterate() as it:
        list(it)
        assert [op.name for op in it.report().ops] == ["range", "second"]


def test_given_a_name_when_a_batch_cannot_fit_then_the_error_uses_it() -> None:
    ds = ps.Dataset.range(100).map(lambda i: np.zeros(1 << 20, np.uint8)).batch(64, name="stacked")
    with (
        ds.iterate(memory="16MiB") as it,
        pytest.raises(ps.errors.BudgetError, match=r"stacked at .*test_plan\.py:\d+ needs 64 MiB"),
    ):
        next(it)


def test_given_a_name_inside_a_nested_dataset_then_the_error_uses_it() -> None:
    ds = ps.Dataset.range(3).flat_map(lambda _: ps.Dataset.range(5).map(picky, name="inner"), name="outer")
    with pytest.raises(ps.errors.FunctionError) as caught:
        list(ds)
    assert caught.value.op == "outer/inner"


def test_given_a_name_of_a_reduction_then_its_error_uses_it() -> None:
    with pytest.raises(ps.errors.FunctionError, match=r"^total at "):
        ps.Dataset.range(5).reduce(0, lambda state, x: state + picky(x), name="total")


def test_given_a_composite_op_then_its_last_op_has_the_name() -> None:
    ds = ps.Dataset.range(9)
    resampled = ds.rejection_resample(lambda x: int(x > 3), [0.5, 0.5], seed=1, name="even")
    assert labels(resampled)[-1] == "even"
    bucketed = ds.map(lambda n: np.ones(int(n))).bucket_by_sequence_length(len, [3], [2, 2], name="buckets")
    assert labels(bucketed) == ["range", "map", "buckets"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((None, None), ["map#1", "map#2"]),
        (("a", None), ["a", "map"]),
        (("a", "a"), ["a#1", "a#2"]),
        (("map", None), ["map#1", "map#2"]),
        (("range", None), ["range#1", "map"]),
        (("a#2", "a"), ["a#2#1", "a"]),
        (("pool", None), ["pool#1", "map"]),
    ],
)
def test_given_names_then_no_two_ops_are_called_alike(names: tuple[Any, Any], expected: list[str]) -> None:
    ds = ps.Dataset.range(3).map(abs, name=names[0]).map(abs, name=names[1])
    found = labels(ds)
    assert found[1:] == expected
    assert len(set(found)) == 3


def test_given_another_name_then_the_pipeline_is_still_the_same() -> None:
    def declared(name: str | None) -> ps.Dataset:
        return ps.Dataset.range(3).map(abs, name=name)

    assert (
        fingerprint(declared("one").op) == fingerprint(declared("two").op) == fingerprint(declared(None).op)
    )


def test_given_another_name_then_a_cache_file_is_still_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("before", "after"):
        ds = ps.Dataset.range(3).map(lambda x: print("made", x) or x, name=name)
        assert [int(x) for x in ds.cache(str(tmp_path / "kept"))] == [0, 1, 2]
    assert capsys.readouterr().out.count("made") == 3


@functools.cache
def saved() -> str:
    """A folder with a saved dataset."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    ps.Dataset.range(2).save(folder)
    return folder


ARGUMENTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "bucket_by_sequence_length": lambda: (len, [3], [2, 2]),
    "concatenate": lambda: (ps.Dataset.range(3),),
    "counter": tuple,
    "filter": lambda: (bool,),
    "flat_map": lambda: (ps.Dataset.range,),
    "from_arrow": lambda: (pyarrow.table({"x": [1]}),),
    "from_generator": lambda: (lambda: iter([1]),),
    "from_sql": lambda: ("SELECT 1 AS x", "sqlite:///:memory:"),
    "from_tensor_slices": lambda: ([1, 2],),
    "from_tensors": lambda: ([1, 2],),
    "group_by_window": lambda: (abs, lambda key, group: group, 2),
    "interleave": lambda: (ps.Dataset.range,),
    "list_files": lambda: ("*", False),
    "load": lambda: (saved(),),
    "map": lambda: (abs,),
    "on_error": lambda: ("skip",),
    "parse_example": lambda: ({"x": ps.io.FixedLenFeature([], "int64")},),
    "range": lambda: (3,),
    "reduce": lambda: (0, lambda state, x: state),
    "rejection_resample": lambda: (abs, [0.5, 0.5]),
    "scan": lambda: (0, lambda state, x: (state, x)),
    "shard": lambda: (2, 1),
    "snapshot": lambda: ("there",),
    "take_while": lambda: (bool,),
    "with_options": lambda: (ps.Options(),),
    "zip": lambda: (ps.Dataset.range(3),),
    **{
        name: lambda: (1,)
        for name in (
            *("batch", "padded_batch", "prefetch", "ragged_batch", "rebatch", "repeat"),
            *("shuffle", "skip", "take", "window"),
        )
    },
}
"""What a method needs besides a name, where it needs anything."""
NAMED = sorted(
    word
    for word in vars(ps.Dataset)
    if word[0] != "_"
    and word != "element_spec"
    and "name" in inspect.signature(getattr(ps.Dataset, word)).parameters
)


def declare(word: str, name: Any) -> Any:
    """The op `word`, named, behind a dataset of one batch of numbers."""
    source = ps.Dataset.range(3).batch(3) if word in ("unbatch", "rebatch") else ps.Dataset.range(1)
    if word == "distribute":
        source = source.map(abs)
    return getattr(source, word)(*ARGUMENTS.get(word, tuple)(), name=name)


@pytest.mark.parametrize("word", NAMED)
@pytest.mark.parametrize("wrong", [3, b"name", ""])
def test_given_a_wrong_name_then_declaring_fails_and_names_the_line(word: str, wrong: Any) -> None:
    kind = ps.errors.ArgumentError if wrong == "" else ps.errors.ArgumentTypeError
    with pytest.raises(kind, match=r"\(name=\) at .*test_plan\.py:\d+: expected a text"):
        declare(word, wrong)


@pytest.mark.parametrize("word", sorted({*NAMED} - {"get_single_element", "reduce", "with_options"}))
def test_given_a_name_then_every_op_is_called_so(word: str) -> None:
    assert labels(declare(word, "mine"))[-1] == "mine"


def test_given_ends_of_a_pipeline_then_they_take_a_name() -> None:
    assert [declare(word, "mine") for word in ("get_single_element", "reduce")] == [0, 0]
    assert [int(x) for x in declare("with_options", "mine")] == [0]
