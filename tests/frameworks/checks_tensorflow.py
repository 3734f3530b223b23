"""What `as_tensorflow` promises; run by `test_tensorflow.py`, in a process of its own."""

from __future__ import annotations

import doctest
import gc
import threading
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import tensorflow as tf
from tensorflow.python.ops import script_ops

import penstock as ps
from frameworks.running import memory_and_threads, run_checks, run_guide
from penstock.frameworks.tensorflow import _OPEN

Point = namedtuple("Point", "y x")  # not in the order of the alphabet


def raises(kind: type[BaseException], call: Any, *words: str) -> BaseException:
    try:
        call()
    except kind as error:
        for word in words:
            assert word in str(error), (word, str(error))
        return error
    raise AssertionError(f"{kind.__name__} was expected")


def same(ours: Any, theirs: Any) -> None:
    """The same leaves in the same structure; text is bytes there."""
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        for key in ours:
            same(ours[key], theirs[key])
    elif isinstance(ours, tuple):
        assert type(ours) is type(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
    elif isinstance(ours, ps.Ragged):
        assert isinstance(theirs, tf.RaggedTensor)
        assert ours.to_list() == theirs.to_list()
        assert ours.row_splits.dtype == theirs.row_splits.dtype.as_numpy_dtype
    else:
        # Of bytes alone, NumPy would drop what is zero at the end.
        ours = np.asarray(ours, object if isinstance(ours, bytes | str) else None)
        theirs = theirs.numpy()
        if ours.dtype.kind in "SUO":
            flat = [text.encode() if isinstance(text, str) else text for text in ours.ravel().tolist()]
            assert flat == np.asarray(theirs, object).ravel().tolist()
        else:
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)
        assert ours.shape == np.shape(theirs)


def growing(n: Any) -> Any:
    return np.arange(n, dtype=np.int32)


def spec(shape: Any, dtype: Any) -> tf.TensorSpec:
    return tf.TensorSpec(shape, dtype)


NUMBERS = ps.Dataset.range(7)
LENGTHS = ps.Dataset.from_tensor_slices([2, 0, 3, 1])
TOLD = ps.Dataset.from_generator(
    lambda: map(growing, [2, 0, 3, 1]), output_signature=ps.TensorSpec((None,), np.int32)
).apply(ps.assert_cardinality(4))
WORDS = ps.Dataset.from_tensor_slices([b"a\0", b"", b"\xff" * 300])
TABLE = {
    "numbers": (NUMBERS, spec((), tf.int64), 7),
    "batches": (NUMBERS.batch(3), spec((None,), tf.int64), 3),
    "whole batches": (NUMBERS.batch(3, drop_remainder=True), spec((3,), tf.int64), 2),
    "text": (ps.Dataset.from_tensor_slices(["é", ""]), spec((), tf.string), 2),
    "bytes": (WORDS, spec((), tf.string), 3),
    "batches of bytes": (WORDS.batch(2), spec((None,), tf.string), 2),
    "arrays of text": (
        ps.Dataset.from_tensor_slices([["a", "é"], ["", "b"]]),
        spec((2,), tf.string),
        2,
    ),
    "a dict": (
        ps.Dataset.from_tensor_slices({"z": [1.5, 2.5], "a": (np.uint8([1, 2]), [True, False])}),
        {"z": spec((), tf.float64), "a": (spec((), tf.uint8), spec((), tf.bool))},
        2,
    ),
    "a named tuple": (
        ps.Dataset.from_tensor_slices(Point(np.float16([1, 2]), np.int8([3, 4]))),
        Point(spec((), tf.float16), spec((), tf.int8)),
        2,
    ),
    "bfloat16": (
        ps.Dataset.from_tensor_slices(np.ones((2, 3), ml_dtypes.bfloat16)),
        spec((3,), tf.bfloat16),
        2,
    ),
    "float8": (
        ps.Dataset.from_tensor_slices(np.arange(6).reshape(2, 3).astype(ml_dtypes.float8_e4m3fn)),
        spec((3,), tf.dtypes.experimental.float8_e4m3fn),
        2,
    ),
    "large elements": (
        ps.Dataset.from_tensor_slices((np.random.default_rng(0).random((5, 90, 90)), np.arange(5))),
        (spec((90, 90), tf.float64), spec((), tf.int64)),
        5,
    ),
    "no columns": (ps.Dataset.from_tensor_slices(np.ones((4, 0))), spec((0,), tf.float64), 4),
    "none at all": (NUMBERS.take(0), spec((), tf.int64), 0),
    "padded": (
        LENGTHS.map(growing).padded_batch(2),
        spec((None, None), tf.int32),
        2,
    ),
    "ragged": (
        LENGTHS.map(growing).ragged_batch(2),
        tf.RaggedTensorSpec((None, None), tf.int32, 1, tf.int64),
        2,
    ),
    "ragged, small splits, fixed rows": (
        TOLD.ragged_batch(2, drop_remainder=True, row_splits_dtype=np.int32),
        tf.RaggedTensorSpec((2, None), tf.int32, 1, tf.int32),
        2,
    ),
    "of any length": (
        LENGTHS.map(growing),
        spec((None,), tf.int32),
        4,
    ),
    "of unknown number": (
        NUMBERS.filter(lambda x: x % 2 == 0),
        spec((), tf.int64),
        tf.data.UNKNOWN_CARDINALITY,
    ),
}


def given_any_dataset_then_elements_spec_and_length_are_the_same_there() -> None:
    for name, (ours, expected, length) in TABLE.items():
        theirs = ours.as_tensorflow()
        assert isinstance(theirs, tf.data.Dataset), name
        assert theirs.element_spec == expected, (name, theirs.element_spec)
        assert theirs.cardinality().numpy() == length, name
        came = list(theirs)
        assert len(came) == len(list(ours)), name
        for a, b in zip(ours, came, strict=True):
            same(a, b)


def given_rows_of_rows_then_they_are_ragged_in_both_axes() -> None:
    nested = LENGTHS.map(lambda n: np.zeros((int(n), int(n) + 1), np.float32)).ragged_batch(4)
    (came,) = list(nested.as_tensorflow())
    assert came.ragged_rank == 2
    assert came.to_list() == next(iter(nested)).to_list()


def given_an_endless_dataset_then_tensorflow_knows_and_take_ends_it() -> None:
    theirs = NUMBERS.repeat().as_tensorflow()
    assert theirs.cardinality().numpy() == tf.data.INFINITE_CARDINALITY
    assert [int(x) for x in theirs.take(9)] == [0, 1, 2, 3, 4, 5, 6, 0, 1]
    assert not _OPEN.passes


def given_a_tf_function_when_it_is_called_again_then_it_is_traced_once_and_sees_all() -> None:
    captured = NUMBERS.batch(3).as_tensorflow()

    @tf.function
    def of_captured() -> Any:
        total = tf.constant(0, tf.int64)
        for batch in captured:
            total += tf.reduce_sum(batch)
        return total

    @tf.function
    def of_argument(dataset: Any) -> Any:
        return dataset.reduce(tf.constant(0, tf.int64), lambda total, batch: total + tf.reduce_sum(batch))

    for _ in range(3):
        assert int(of_captured()) == 21
        assert int(of_argument(captured)) == 21
    assert of_captured.experimental_get_tracing_count() == 1
    assert of_argument.experimental_get_tracing_count() == 1
    assert not _OPEN.passes


def given_a_dataset_declared_while_a_function_is_traced_then_it_works() -> None:
    @tf.function
    def total() -> Any:
        out = tf.constant(0, tf.int64)
        for x in NUMBERS.as_tensorflow():
            out += x
        return out

    gc.collect()
    assert [int(total()), int(total())] == [21, 21]


def given_ops_of_tensorflow_after_it_then_they_work() -> None:
    theirs = NUMBERS.as_tensorflow().map(lambda x: x * 2).batch(4).prefetch(2)
    assert [batch.numpy().tolist() for batch in theirs] == [[0, 2, 4, 6], [8, 10, 12]]


def given_a_seeded_shuffle_then_epochs_differ_and_are_those_of_penstock() -> None:
    ours, theirs = (NUMBERS.shuffle(7, seed=3) for _ in range(2))
    there = theirs.as_tensorflow()
    epochs = [[int(x) for x in there] for _ in range(3)]
    assert epochs == [[int(x) for x in ours] for _ in range(3)]
    assert epochs[0] != epochs[1]


def fails_at(bad: int) -> Any:
    def function(x: Any) -> Any:
        if x == bad:
            raise ValueError(f"no {bad}s today")
        return int(x)

    return function


def walked(dataset: Any) -> list[Any]:
    out: list[Any] = []
    elements = iter(dataset)
    for _ in range(20):
        try:
            out.append(int(next(elements)))
        except StopIteration:
            return out
        except tf.errors.OpError as error:
            assert "no 4s today" in str(error)
            out.append(type(error).__name__)
    raise AssertionError(f"there is no end to {out}")


def given_a_failing_element_then_it_is_an_error_in_its_place_and_the_rest_comes() -> None:
    for ours in (NUMBERS, NUMBERS.filter(lambda x: x >= 0)):
        theirs = ours.map(fails_at(4)).as_tensorflow()
        assert walked(theirs) == [0, 1, 2, 3, "UnknownError", 5, 6]
        assert walked(theirs.ignore_errors()) == [0, 1, 2, 3, 5, 6]
    assert not _OPEN.passes


def given_a_wrong_dtype_in_the_middle_then_it_is_an_error() -> None:
    def odd() -> Iterator[Any]:
        yield np.ones(2, np.float32)
        yield np.ones(2, np.float64)

    theirs = ps.Dataset.from_generator(odd).as_tensorflow()
    elements = iter(theirs)
    next(elements)
    raises(tf.errors.OpError, lambda: next(elements))


class Watched:
    """A source that tells whether a pass over it is open."""

    def __init__(self, stop: int) -> None:
        self.stop = stop
        self.opened = self.open = 0

    def __call__(self) -> Iterator[Any]:
        self.opened += 1
        self.open += 1
        try:
            yield from (np.full(3, i) for i in range(self.stop))
        finally:
            self.open -= 1

    def dataset(self) -> ps.Dataset:
        return ps.Dataset.from_generator(self, output_signature=ps.TensorSpec((3,), np.int64))


def given_a_pass_that_ends_or_is_dropped_or_fails_then_its_run_is_closed() -> None:
    short = Watched(50)
    assert len(list(short.dataset().prefetch(2).as_tensorflow())) == 50
    assert (short.opened, short.open) == (1, 0)
    source = Watched(1 << 40)
    whole = source.dataset().prefetch(2).as_tensorflow()
    elements = iter(whole)
    next(elements)
    assert source.open == 1
    del elements
    assert source.open == 0

    def fail() -> None:
        for _ in whole:
            raise KeyError("the loop's own")

    raises(KeyError, fail)
    gc.collect()
    assert (source.opened, source.open) == (2, 0)
    assert not _OPEN.passes


def given_a_length_that_is_known_when_it_is_reached_then_the_run_is_closed() -> None:
    source = Watched(5)
    known = source.dataset().apply(ps.assert_cardinality(5)).as_tensorflow()
    elements = iter(known)
    assert len(list(elements)) == 5
    assert source.open == 0
    assert len(known) == 5


def given_a_slow_source_then_the_first_element_does_not_wait_for_others() -> None:
    got_first = threading.Event()

    def slow() -> Iterator[int]:
        yield 1
        assert got_first.wait(60), "the second element was asked for before the first was handed over"
        yield 2

    theirs = ps.Dataset.from_generator(slow, output_signature=ps.TensorSpec((), np.int64)).as_tensorflow()
    elements = iter(theirs)
    assert int(next(elements)) == 1
    got_first.set()
    assert int(next(elements)) == 2


def given_many_datasets_and_epochs_then_nothing_grows() -> None:
    def one() -> None:
        dataset = NUMBERS.map(lambda x: (x, x * 2)).batch(2).prefetch(1).as_tensorflow()
        for _ in range(2):
            assert sum(int(tf.reduce_sum(a)) for a, _ in dataset) == 21

    for _ in range(15):
        one()
    gc.collect()
    kept = getattr(tf.compat.v1.get_default_graph(), "_py_funcs_used_in_graph", [])
    before = script_ops._py_funcs.size(), len(kept), *memory_and_threads()
    for _ in range(50):
        one()
    long = NUMBERS.shuffle(7).prefetch(1).as_tensorflow()
    for _ in range(50):
        list(long)
    del long
    gc.collect()
    assert script_ops._py_funcs.size() == before[0]
    assert len(kept) == before[1]
    memory, threads = memory_and_threads()
    assert threads <= before[3] + 2
    assert memory - before[2] < 24 << 20
    assert not _OPEN.passes


def given_datasets_that_are_dropped_then_nothing_refers_to_them() -> None:
    gc.collect()
    before = len(_OPEN._feeds)
    kept = [NUMBERS.as_tensorflow().map(lambda x: x + 1) for _ in range(5)]
    assert len(_OPEN._feeds) == before + 5
    assert [int(x) for x in kept[0]] == [1, 2, 3, 4, 5, 6, 7]
    del kept
    gc.collect()
    assert len(_OPEN._feeds) == before


def given_a_cleared_session_then_datasets_still_work() -> None:
    theirs = NUMBERS.as_tensorflow()
    tf.keras.backend.clear_session()
    gc.collect()
    assert [int(x) for x in theirs] == [0, 1, 2, 3, 4, 5, 6]
    assert [int(x) for x in NUMBERS.as_tensorflow()] == [0, 1, 2, 3, 4, 5, 6]


def given_arrays_of_the_user_when_tensorflow_computes_in_place_then_they_do_not_change() -> None:
    array = np.zeros((4, 1 << 18), np.float32)
    for theirs in (
        ps.Dataset.from_tensor_slices(array).as_tensorflow(),
        ps.Dataset.from_tensors(array).as_tensorflow(),
        ps.Dataset.from_tensor_slices(array).batch(4).as_tensorflow(),
    ):
        for changed in theirs.map(lambda x: tf.nn.relu(tf.negative(tf.cos(x)) + 2.0)):
            assert float(tf.reduce_min(changed)) == 1.0
        for eager in theirs:
            assert float(tf.reduce_min(tf.cos(eager))) == 1.0
        assert not array.any()


def given_two_devices_then_a_mirrored_strategy_gets_every_element_once() -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    global_batches = NUMBERS.batch(4).as_tensorflow()
    whole = strategy.experimental_distribute_dataset(global_batches)
    batches = strategy.distribute_datasets_from_function(lambda _: NUMBERS.batch(2).as_tensorflow())

    @tf.function
    def total(batch: Any) -> Any:
        return strategy.reduce("SUM", strategy.run(tf.reduce_sum, args=(batch,)), axis=None)

    for _ in range(2):
        assert sum(int(total(batch)) for batch in whole) == 21
        assert sum(int(total(batch)) for batch in batches) == 21


def given_what_tensorflow_does_not_have_then_it_is_refused_with_the_users_line() -> None:
    here = "checks_tensorflow.py:"
    days = ps.Dataset.from_tensor_slices({"day": np.array(["2020-01-01"], "M8[D]")})
    raises(ps.errors.ArgumentTypeError, days.as_tensorflow, "['day']", "datetime64", here, "map()")
    raises(ps.errors.ArgumentTypeError, NUMBERS.window(2).as_tensorflow, "flat_map", here)
    things = ps.Dataset.from_generator(lambda: iter([{1, 2}]))
    raises(ps.errors.PenstockError, things.as_tensorflow)


def given_the_example_of_the_docstring_then_it_holds() -> None:
    runner = doctest.DocTestRunner()
    for method in (ps.Dataset.as_tensorflow, ps.from_tensorflow):
        for test in doctest.DocTestFinder().find(method, method.__name__, globs={}):
            for example in test.examples:
                example.options.pop(doctest.SKIP, None)
            assert test.examples
            runner.run(test)
    assert runner.failures == 0


def given_the_code_in_the_guides_then_it_runs() -> None:
    for guide in ("tensorflow.md", "coming-from-tf-data.md"):
        run_guide(guide)


if __name__ == "__main__":
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    run_checks(globals(), "checks_tensorflow.py")
