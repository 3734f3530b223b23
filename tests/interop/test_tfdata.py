"""Penstock against the real tf.data: the same pipeline in both, and the same comes out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as ps
from interop.cases import CASES, LOOSE, WRONG, records
from interop.words import LIMIT, Words, loosely, plain, trace

INFINITE, UNKNOWN = -1, -2


@pytest.mark.parametrize("name", CASES)
def test_given_a_pipeline_then_both_give_the_same_stream(name: str, ours: Words, theirs: Words) -> None:
    got, expected = trace(ours, CASES[name](ours)), trace(theirs, CASES[name](theirs))
    if name in LOOSE:
        got, expected = loosely(got), loosely(expected)
    assert got == expected


@pytest.mark.parametrize("name", CASES)
def test_given_a_pipeline_then_both_say_the_same_length(name: str, ours: Words, theirs: Words) -> None:
    ds = CASES[name](ours)
    got, expected = int(ds.cardinality()), int(CASES[name](theirs).cardinality())
    if expected == UNKNOWN and got != UNKNOWN:
        expected = len(trace(ours, ds))  # knowing more is allowed, if it is true
    assert got == expected


@pytest.mark.parametrize("name", CASES)
def test_given_a_pipeline_then_both_say_the_same_spec(name: str, ours: Words, theirs: Words) -> None:
    ds = CASES[name](ours)
    got = spec_of(ds.element_spec)
    expected = spec_of(CASES[name](theirs).element_spec)
    if ds.op.spec is None:
        expected = without_sizes(expected)  # a sample tells dtypes and ranks, and invents no sizes
    if name in LOOSE:
        got, expected = loosely(got), loosely(expected)
    narrowed = narrow(expected, got)
    assert got == narrowed


@pytest.mark.parametrize("name", CASES)
def test_given_a_spec_then_every_element_agrees_with_it(name: str, ours: Words) -> None:
    ds = CASES[name](ours)
    spec = ds.element_spec
    wrong = [
        (leaf.shape, one)
        for event in ours.events(ds, LIMIT)
        if not isinstance(event, str)
        for leaf, one in zip(leaves(event), leaves(spec), strict=True)
        if isinstance(leaf, np.ndarray) and not fits(leaf.shape, one.shape)
    ]
    assert wrong == []


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in leaves(value[key])]
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def fits(shape: tuple[int, ...], sizes: tuple[int | None, ...] | None) -> bool:
    if sizes is None:
        return True
    return len(shape) == len(sizes) and all(
        size is None or size == there for size, there in zip(sizes, shape, strict=True)
    )


def spec_of(spec: Any) -> Any:
    """A nest of specs in the form in which it is compared."""
    if isinstance(spec, dict):
        return {key: spec_of(part) for key, part in sorted(spec.items())}
    if isinstance(spec, tuple):
        name = type(spec).__name__ if hasattr(spec, "_fields") else "tuple"
        return (name, [spec_of(part) for part in spec])
    kind = type(spec).__name__
    if kind == "RaggedTensorSpec":
        kind = "TensorSpec"  # a size that is None says as much
    if kind == "DatasetSpec":
        return (kind, spec_of(spec.element_spec))
    shape = None if spec.shape is None else getattr(spec.shape, "rank", len(spec.shape or ()))
    sizes = None if shape is None else tuple(spec.shape)
    return (kind, dtype_name(spec.dtype), sizes)


def without_sizes(spec: Any) -> Any:
    """A compared spec with every size unknown."""
    if isinstance(spec, dict):
        return {key: without_sizes(part) for key, part in spec.items()}
    if spec[0] == "TensorSpec":
        kind, dtype, sizes = spec
        return (kind, dtype, None if sizes is None else (None,) * len(sizes))
    name, parts = spec
    return (name, [without_sizes(part) for part in parts] if isinstance(parts, list) else parts)


def dtype_name(dtype: Any) -> str:
    if isinstance(dtype, np.dtype):
        return "string" if dtype.kind in "SU" else dtype.name
    return str(dtype.name)


def narrow(expected: Any, got: Any) -> Any:
    """`expected`, with each size that only Penstock knows taken from `got`."""
    if isinstance(expected, dict) and isinstance(got, dict) and expected.keys() == got.keys():
        return {key: narrow(part, got[key]) for key, part in expected.items()}
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        return [narrow(a, b) for a, b in zip(expected, got, strict=True)]
    if not (isinstance(expected, tuple) and isinstance(got, tuple) and len(expected) == len(got)):
        return expected
    if expected[0] == "TensorSpec":
        kind, dtype, sizes = expected
        if sizes is None:
            sizes = got[2]
        elif got[2] is not None and len(sizes) == len(got[2]):
            sizes = tuple(b if a is None else a for a, b in zip(sizes, got[2], strict=True))
        return (kind, dtype, sizes)
    return tuple(narrow(a, b) for a, b in zip(expected, got, strict=True))


@pytest.mark.parametrize("name", WRONG)
def test_given_a_wrong_call_then_both_refuse_it(name: str, ours: Words, theirs: Words) -> None:
    with pytest.raises(Exception):  # noqa: B017 - which class it is, is TensorFlow's own affair
        if "failed" in trace(theirs, WRONG[name](theirs), limit=10):
            raise ValueError("refused while it ran")
    with pytest.raises((ps.errors.PenstockError, TypeError)) as caught:
        WRONG[name](ours)
        # What only an element can tell is told at the first element.
        if "failed" in trace(ours, WRONG[name](ours), limit=1):
            raise ps.errors.DataError("refused at the first element")
    assert len(str(caught.value)) > 20


class TestReading:
    """Words that end a pipeline with something other than a dataset."""

    def test_reduce(self, ours: Words, theirs: Words) -> None:
        for w in (ours, theirs):
            total = w.Dataset.range(10).reduce(np.int64(0), lambda s, x: s + x)
            assert plain(w, total) == ("int64", (), 45)

    def test_reduce_of_a_nest(self, ours: Words, theirs: Words) -> None:
        got = [
            plain(
                w,
                records(w).reduce((np.int64(0), np.int64(1)), lambda s, r: (s[0] + r["label"], s[1] * 2)),
            )
            for w in (ours, theirs)
        ]
        assert got[0] == got[1]

    def test_get_single_element(self, ours: Words, theirs: Words) -> None:
        got = [
            plain(w, records(w).batch(6).map(lambda r: r["label"]).get_single_element())
            for w in (ours, theirs)
        ]
        assert got[0] == got[1]

    def test_as_numpy_iterator(self, ours: Words, theirs: Words) -> None:
        for w in (ours, theirs):
            got = list(records(w).batch(4).as_numpy_iterator())
            assert [type(part["image"]) for part in got] == [np.ndarray, np.ndarray]
            assert got[1]["label"].tolist() == [4, 5]

    def test_len(self, ours: Words, theirs: Words) -> None:
        for w in (ours, theirs):
            assert len(w.Dataset.range(10).batch(3)) == 4
            for endless in (
                w.Dataset.range(3).repeat(),
                w.Dataset.range(3).filter(lambda x: x > 0),
            ):
                with pytest.raises(TypeError):
                    len(endless)

    def test_bool_of_an_empty_dataset(self, ours: Words, theirs: Words) -> None:
        for w in (ours, theirs):
            assert bool(w.Dataset.range(0))

    def test_a_second_pass_gives_the_same(self, ours: Words, theirs: Words) -> None:
        for w in (ours, theirs):
            ds = w.Dataset.range(5).map(lambda x: x + 1).cache().batch(2)
            assert trace(w, ds) == trace(w, ds)
