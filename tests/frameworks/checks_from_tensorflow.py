"""What `ps.from_tensorflow` promises; run by `test_tensorflow.py`, in a process of its own."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.data.ops.iterator_ops import OwnedIterator

import penstock as ps
from frameworks.running import run_checks


def raises(kind: type[BaseException], call: Any, *words: str) -> BaseException:
    try:
        call()
    except kind as error:
        for word in words:
            assert word in str(error), (word, str(error))
        return error
    raise AssertionError(f"{kind.__name__} was expected")


def given_numbers_then_spec_length_and_values_are_the_same() -> None:
    theirs = tf.data.Dataset.from_tensor_slices({"z": [1.5, 2.5], "a": ([True, False], np.uint8([[1], [2]]))})
    ours = ps.from_tensorflow(theirs)
    assert ours.element_spec == {
        "z": ps.TensorSpec((), np.float32),
        "a": (ps.TensorSpec((), bool), ps.TensorSpec((1,), np.uint8)),
    }
    assert len(ours) == 2
    first, second = ours
    assert (float(first["z"]), bool(first["a"][0]), first["a"][1].tolist()) == (1.5, True, [1])
    assert (float(second["z"]), bool(second["a"][0]), second["a"][1].tolist()) == (2.5, False, [2])
    assert list(first) == ["z", "a"]


def given_every_dtype_then_it_is_kept() -> None:
    for dtype in (tf.bool, tf.int8, tf.uint16, tf.int64, tf.float16, tf.bfloat16, tf.float64, tf.complex64):
        array = np.array([0, 1, 1]).astype(dtype.as_numpy_dtype)
        (came,) = ps.from_tensorflow(tf.data.Dataset.from_tensors(tf.constant(array)))
        assert came.dtype == array.dtype
        np.testing.assert_array_equal(came, array)


def given_strings_then_they_are_bytes() -> None:
    theirs = tf.data.Dataset.from_tensor_slices(([b"a\0", "é"], [[b"x", b"yy"], [b"", b"z"]]))
    ours = ps.from_tensorflow(theirs)
    assert ours.element_spec == (ps.TensorSpec((), bytes), ps.TensorSpec((2,), bytes))
    assert [(a, b.tolist()) for a, b in ours] == [(b"a\0", [b"x", b"yy"]), ("é".encode(), [b"", b"z"])]


def given_ragged_tensors_then_they_are_ragged_and_come_back_the_same() -> None:
    rows = tf.ragged.constant([[[1], [2, 3]], [], [[4, 5]]])
    theirs = tf.data.Dataset.from_tensors(rows)
    ours = ps.from_tensorflow(theirs)
    (came,) = ours
    assert isinstance(came, ps.Ragged)
    assert came.to_list() == [[[1], [2, 3]], [], [[4, 5]]]
    (back,) = ours.as_tensorflow()
    assert back.to_list() == came.to_list()


def given_unknown_and_endless_lengths_then_penstock_knows() -> None:
    numbers = tf.data.Dataset.range(5)
    assert ps.from_tensorflow(numbers.filter(lambda x: x > 2)).cardinality() == ps.UNKNOWN
    endless = ps.from_tensorflow(numbers.repeat())
    assert endless.cardinality() == ps.INFINITE
    assert [int(x) for x in endless.take(7)] == [0, 1, 2, 3, 4, 0, 1]


def given_ops_of_penstock_after_it_then_they_work_epoch_after_epoch() -> None:
    ours = ps.from_tensorflow(tf.data.Dataset.range(100)).map(lambda x: x * 2).shuffle(100, seed=1).batch(10)
    for _ in range(3):
        with ours.iterate(memory="1MiB") as batches:
            assert sorted(np.concatenate(list(batches)).tolist()) == list(range(0, 200, 2))


def given_a_failing_element_then_it_is_an_error_in_its_place() -> None:
    theirs = tf.data.Dataset.range(5).map(
        lambda x: tf.debugging.check_numerics(1.0 / tf.cast(x - 2, tf.float32), "bad")
    )
    elements = iter(ps.from_tensorflow(theirs, name="theirs"))
    assert [float(next(elements)) for _ in range(2)] == [-0.5, -1.0]
    error = raises(
        ps.errors.DataError, lambda: next(elements), "theirs at", "element 2", "InvalidArgumentError"
    )
    assert isinstance(error, ps.errors.DataError)
    assert (error.op, error.number) == ("theirs", 2)
    assert [float(x) for x in elements] == [1.0, 0.5]
    assert len(list(ps.from_tensorflow(theirs).ignore_errors())) == 4


def given_a_file_that_is_not_there_then_the_run_ends_with_an_error() -> None:
    ours = ps.from_tensorflow(tf.data.TextLineDataset("/no/such/file")).ignore_errors()
    raises(ps.errors.PenstockError, lambda: list(ours), "NotFoundError", "/no/such/file", "cannot go on")


def given_a_run_that_ends_or_is_closed_then_nothing_of_tensorflow_is_left() -> None:
    open_passes = []

    def source() -> Iterator[int]:
        open_passes.append(True)
        try:
            yield from range(100)
        finally:
            open_passes.pop()

    theirs = tf.data.Dataset.from_generator(source, output_signature=tf.TensorSpec((), tf.int64))
    ours = ps.from_tensorflow(theirs).prefetch(4)
    with ours.iterate() as elements:
        assert int(next(elements)) == 0
        assert open_passes
    assert not open_passes
    assert len(list(ours)) == 100
    assert not open_passes
    gc.collect()
    assert not [thing for thing in gc.get_objects() if isinstance(thing, OwnedIterator)]


def given_what_cannot_be_taken_then_it_is_refused_with_the_users_line() -> None:
    here = "checks_from_tensorflow.py:"
    sparse = tf.data.Dataset.from_tensors({"s": tf.sparse.from_dense([0, 1])})
    raises(ps.errors.ArgumentTypeError, lambda: ps.from_tensorflow(sparse), "['s']", "to_dense", here)
    windows = tf.data.Dataset.range(4).window(2)
    raises(ps.errors.ArgumentTypeError, lambda: ps.from_tensorflow(windows), "DatasetSpec", here)
    raises(ps.errors.ArgumentTypeError, lambda: ps.from_tensorflow([1, 2]), "tf.data.Dataset", "list", here)


if __name__ == "__main__":
    run_checks(globals(), "checks_from_tensorflow.py")
