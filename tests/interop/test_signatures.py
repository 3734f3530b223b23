"""Every word takes tf.data's arguments, in its order, under its names, with its defaults."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from typing import Any

import numpy as np
import pytest

import penstock as ps
from interop.words import Words

LEFT_OUT = {
    "output_types": "deprecated there; output_signature takes its place",
    "output_shapes": "deprecated there; output_signature takes its place",
    "synchronous": "tuning of TensorFlow's own threads",
    "use_unbounded_threadpool": "tuning of TensorFlow's own threads",
}
"""Arguments that Penstock does not take, and why."""
NO_OP = {"name": "names an op; a function of images and a spec are none here, and no message shows it"}
"""What is left out besides, of what is no op."""

METHODS = [
    "apply",
    "as_numpy_iterator",
    "batch",
    "bucket_by_sequence_length",
    "cache",
    "cardinality",
    "choose_from_datasets",
    "concatenate",
    "counter",
    "enumerate",
    "filter",
    "flat_map",
    "from_generator",
    "from_tensor_slices",
    "from_tensors",
    "get_single_element",
    "group_by_window",
    "ignore_errors",
    "interleave",
    "map",
    "options",
    "padded_batch",
    "prefetch",
    "ragged_batch",
    "random",
    "rebatch",
    "reduce",
    "rejection_resample",
    "repeat",
    "sample_from_datasets",
    "scan",
    "shard",
    "shuffle",
    "skip",
    "take",
    "take_while",
    "unbatch",
    "unique",
    "window",
    "with_options",
    "zip",
]
FUNCTIONS = ["Reducer", "assert_cardinality", "group_by_reducer", "pad_to_cardinality"]
IMAGE = [
    "convert_image_dtype",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "resize",
    "rot90",
]
WIDER: dict[tuple[str, str], Any] = {
    ("shuffle", "buffer_size"): None,  # required there; without one, the whole of the source here
}
"""Defaults that Penstock has where tf.data has none."""


def parameters(function: Any) -> list[tuple[str, str, Any]]:
    """Name, kind and default of each argument, dtypes by name."""
    return [
        (one.name, one.kind.name, _default(one.default))
        for one in inspect.signature(function).parameters.values()
    ]


def _default(value: Any) -> Any:
    if value is inspect.Parameter.empty:
        return "required"
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return np.dtype(value).name
    return getattr(value, "name", value)


def check(word: str, ours: Any, theirs: Any, left_out: Collection[str] = LEFT_OUT) -> None:
    mine = parameters(ours)
    expected = [
        (name, kind, WIDER.get((word, name), default))
        for name, kind, default in parameters(theirs)
        if name not in left_out
    ]
    assert mine[: len(expected)] == expected
    for name, kind, default in mine[len(expected) :]:
        assert kind == "KEYWORD_ONLY" and default != "required", f"{word}({name}=) is an extra"


@pytest.mark.parametrize("word", METHODS)
def test_given_a_word_of_a_dataset_then_its_arguments_are_tf_datas(word: str, theirs: Words) -> None:
    check(word, getattr(ps.Dataset, word), getattr(theirs.Dataset, word))


def test_given_range_then_it_takes_the_keywords_that_tf_data_names_in_words(theirs: Words) -> None:
    for words in (ps, theirs):
        ds = words.Dataset.range(1, 5, 2, output_type=np.int32, name="numbers")  # type: ignore[attr-defined]
        assert [int(x) for x in ds] == [1, 3]


@pytest.mark.parametrize("word", FUNCTIONS)
def test_given_a_function_then_its_arguments_are_tf_datas(word: str, theirs: Words) -> None:
    check(word, getattr(ps, word), getattr(theirs.experimental, word))


@pytest.mark.parametrize("word", IMAGE)
def test_given_a_function_of_images_then_its_arguments_are_tf_images(word: str, theirs: Words) -> None:
    check(word, getattr(ps.image, word), getattr(theirs.image, word), {**LEFT_OUT, **NO_OP})


def test_given_the_constants_then_they_are_tf_datas(theirs: Words) -> None:
    tf = theirs.tf  # type: ignore[attr-defined]
    assert ps.AUTOTUNE == tf.data.AUTOTUNE
    assert int(tf.data.INFINITE_CARDINALITY) == ps.INFINITE
    assert int(tf.data.UNKNOWN_CARDINALITY) == ps.UNKNOWN
    check("TensorSpec", ps.TensorSpec, tf.TensorSpec, {**LEFT_OUT, **NO_OP})
