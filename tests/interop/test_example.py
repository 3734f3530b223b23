"""`ps.io`'s Examples against the real tf.io: the same bytes, the same values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from interop.words import Words

quickly = settings(max_examples=60, deadline=None, derandomize=True)
INT64 = [0, 1, -1, 127, 128, 300, 2**31, 2**63 - 1, -(2**63)]
DTYPES = {"int64": "int64", "float32": "float32", "string": "string"}
VALUES: dict[str, list[Any]] = {
    "int64": INT64,
    "float32": [0.0, -0.0, 1.5, float("nan"), float("inf"), -3e38, 1e-45],
    "string": [b"", b"a", b"\x00\xff", "é".encode(), b"x" * 300],
}


def feature(tf: Any, values: Any, dtype: str) -> Any:
    if dtype == "int64":
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    if dtype == "float32":
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def example(tf: Any, /, **features: tuple[Any, str]) -> bytes:
    made = {name: feature(tf, *value) for name, value in features.items()}
    message = tf.train.Example(features=tf.train.Features(feature=made))
    return bytes(message.SerializeToString(deterministic=True))


def same(ours: Any, theirs: Any, tf: Any) -> None:
    """Hold a value of ours to one of TensorFlow's."""
    if isinstance(theirs, dict):
        assert set(ours) == set(theirs)
        for name in theirs:
            same(ours[name], theirs[name], tf)
    elif isinstance(theirs, tuple | list):
        assert len(ours) == len(theirs)
        for mine, its in zip(ours, theirs, strict=True):
            same(mine, its, tf)
    elif isinstance(theirs, tf.RaggedTensor):
        assert isinstance(ours, ps.Ragged)
        assert ours.row_splits.dtype == theirs.row_splits.dtype.as_numpy_dtype
        np.testing.assert_equal(ours.to_list(), theirs.to_list())
    elif isinstance(theirs, tf.sparse.SparseTensor):
        same_sparse(ours, theirs, tf)
    else:
        expected = theirs.numpy()
        if isinstance(expected, bytes):
            assert ours == expected
            return
        assert ours.dtype == expected.dtype
        assert ours.shape == expected.shape
        if expected.dtype == object:
            assert ours.tolist() == expected.tolist()
        else:
            assert ours.tobytes() == expected.tobytes()


def same_sparse(ours: Any, theirs: Any, tf: Any) -> None:
    if isinstance(ours, ps.io.SparseValue):
        for mine, its in zip(ours, (theirs.indices, theirs.values, theirs.dense_shape), strict=True):
            same(mine, its, tf)
    elif isinstance(ours, ps.Ragged):
        np.testing.assert_equal(flat_rows(ours), theirs.values.numpy().tolist())
        found = [list(place) for place in places(ours)]
        assert found == theirs.indices.numpy().tolist()
        assert theirs.dense_shape.numpy()[0] == len(ours)
    else:
        same(ours, theirs.values, tf)


def flat_rows(rows: Any) -> list[Any]:
    return [item for row in rows for item in (flat_rows(row) if isinstance(row, ps.Ragged) else row.tolist())]


def places(rows: Any) -> list[tuple[int, ...]]:
    """The indices that a SparseTensor has for the items of a Ragged."""
    found = []
    for i, row in enumerate(rows):
        inner = places(row) if isinstance(row, ps.Ragged) else [(j,) for j in range(len(row))]
        found += [(i, *rest) for rest in inner]
    return found


def both(tf: Any, kind: str, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """The same feature, declared in both libraries."""
    return getattr(ps.io, kind)(*args, **kwargs), getattr(tf.io, kind)(*args, **kwargs)


def agree(tf: Any, serialized: list[bytes], features: dict[str, tuple[Any, Any]]) -> None:
    """Parse one by one, all together, and in pipelines of both ways; all as TensorFlow does."""
    mine = {name: pair[0] for name, pair in features.items()}
    its = {name: pair[1] for name, pair in features.items()}
    singles = [tf.io.parse_single_example(one, its) for one in serialized]
    for one, expected in zip(serialized, singles, strict=True):
        same(ps.io.parse_single_example(one, mine), expected, tf)
    expected = tf.io.parse_example(serialized, its)
    same(ps.io.parse_example(serialized, mine), expected, tf)
    same(ps.io.parse_example(np.array(serialized, object), mine), expected, tf)
    ds = ps.Dataset.from_tensor_slices(np.array(serialized * 4, object))
    parsed = ds.map(lambda one: ps.io.parse_single_example(one, mine))
    for got, expected in zip(parsed, singles * 4, strict=True):
        same(got, expected, tf)
    batches = ds.batch(len(serialized)).map(lambda one: ps.io.parse_example(one, mine))
    expected = tf.io.parse_example(serialized, its)
    assert len([same(got, expected, tf) for got in batches]) == 4


@pytest.fixture(scope="module")
def tf(theirs: Words) -> Any:
    return theirs.tf  # type: ignore[attr-defined]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [[], [1], [2], [2, 3], [0], [3, 1, 2]])
def test_fixed_len_feature(tf: Any, dtype: str, shape: list[int]) -> None:
    size, values = int(np.prod(shape)), VALUES[dtype]
    serialized = [
        example(tf, x=([values[(i + j) % len(values)] for j in range(size)], dtype), other=([1], "int64"))
        for i in range(7)
    ]
    agree(tf, serialized, {"x": both(tf, "FixedLenFeature", shape, dtype)})


@pytest.mark.parametrize(
    ("shape", "dtype", "default"),
    [
        ([], "int64", 7),
        ([], "float32", 1),
        ([], "string", "text"),
        ([], "string", b""),
        ([2], "int64", [3, -4]),
        ([2, 1], "float32", [[0.5], [1.5]]),
        ([2], "string", [b"ab", b""]),
    ],
)
def test_fixed_len_feature_with_a_default(tf: Any, shape: Any, dtype: str, default: Any) -> None:
    size = int(np.prod(shape))
    there = example(tf, x=(VALUES[dtype][1 : 1 + size], dtype))
    unset = tf.train.Example(features=tf.train.Features(feature={"x": tf.train.Feature()}))
    missing = [b"", example(tf, y=([1], "int64")), unset.SerializeToString(), there]
    agree(tf, missing, {"x": both(tf, "FixedLenFeature", shape, dtype, default)})


@pytest.mark.parametrize("dtype", DTYPES)
def test_var_len_and_ragged_feature(tf: Any, dtype: str) -> None:
    values = VALUES[dtype]
    serialized = [example(tf, x=(values[:n], dtype)) for n in (0, 1, 3, 2)] + [b""]
    for kind in ("VarLenFeature", "RaggedFeature"):
        agree(tf, serialized, {"x": both(tf, kind, dtype)})
    features = {"y": both(tf, "RaggedFeature", dtype, "x", row_splits_dtype="int64")}
    mine, its = (
        {"y": features["y"][0]},
        {"y": tf.io.RaggedFeature(tf.as_dtype(dtype), "x", row_splits_dtype=tf.int64)},
    )
    same(ps.io.parse_example(serialized, mine), tf.io.parse_example(serialized, its), tf)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [[], [2], [1, 2]])
@pytest.mark.parametrize("default", [False, True])
def test_fixed_len_sequence_feature(tf: Any, dtype: str, shape: list[int], default: bool) -> None:
    size, values = int(np.prod(shape)), VALUES[dtype] * 3
    serialized = [example(tf, x=(values[: n * size], dtype)) for n in (0, 1, 3, 2)] + [b""]
    fill = values[1] if default else None
    agree(
        tf,
        serialized,
        {"x": both(tf, "FixedLenSequenceFeature", shape, dtype, allow_missing=True, default_value=fill)},
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("already_sorted", [False, True])
def test_sparse_feature(tf: Any, dtype: str, already_sorted: bool) -> None:
    values = VALUES[dtype]
    rows = [([3, 1, 2], values[:3]), ([], []), ([9], values[:1])]
    serialized = [example(tf, i=(at, "int64"), v=(what, dtype)) for at, what in rows] + [b""]
    agree(tf, serialized, {"x": both(tf, "SparseFeature", "i", "v", dtype, 10, already_sorted)})


def test_sparse_feature_of_two_axes(tf: Any) -> None:
    rows = [([3, 1, 1], [0, 5, 2]), ([], [])]
    serialized = [
        example(tf, i=(i, "int64"), j=(j, "int64"), v=([float(n) for n in i], "float32")) for i, j in rows
    ]
    agree(tf, serialized, {"x": both(tf, "SparseFeature", ["i", "j"], "v", "float32", [4, 6])})


def partition(tf: Any, kind: str, *args: Any) -> tuple[Any, Any]:
    return getattr(ps.io.RaggedFeature, kind)(*args), getattr(tf.io.RaggedFeature, kind)(*args)


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("RowLengths", [[2, 0, 1], [3], [0, 0, 3]]),
        ("RowSplits", [[0, 2, 2, 3], [0, 3], [0, 0, 0, 3]]),
        ("RowStarts", [[0, 2, 2], [0], [0, 0, 0]]),
        ("RowLimits", [[2, 2, 3], [3], [0, 0, 3]]),
        ("ValueRowIds", [[0, 0, 2], [0, 0, 0], [1, 1, 2]]),
    ],
)
def test_ragged_feature_with_a_partition(tf: Any, kind: str, rows: list[list[int]]) -> None:
    serialized = [example(tf, v=([1, 2, 3], "int64"), p=(row, "int64")) for row in rows]
    mine, its = partition(tf, kind, "p")
    pair = (
        ps.io.RaggedFeature("int64", "v", [mine]),
        tf.io.RaggedFeature(tf.int64, "v", [its]),
    )
    agree(tf, serialized, {"x": pair})


def test_ragged_feature_with_two_partitions(tf: Any) -> None:
    serialized = [
        example(tf, v=([1, 2, 3, 4], "int64"), inner=([2, 0, 1, 1], "int64"), outer=([1, 3], "int64")),
        example(tf, v=([5], "int64"), inner=([1], "int64"), outer=([0, 1], "int64")),
    ]
    outer, inner = partition(tf, "RowLengths", "outer"), partition(tf, "RowLengths", "inner")
    pair = (
        ps.io.RaggedFeature("int64", "v", [outer[0], inner[0]]),
        tf.io.RaggedFeature(tf.int64, "v", [outer[1], inner[1]]),
    )
    agree(tf, serialized, {"x": pair})


def varint(number: int) -> bytes:
    out = bytearray()
    number &= (1 << 64) - 1
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def field(number: int, body: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(body)) + body


def wire(*entries: tuple[bytes, bytes]) -> bytes:
    return field(1, b"".join(field(1, field(1, key) + field(2, value)) for key, value in entries))


INTS = field(3, field(1, varint(5) + varint(-6)))
UNPACKED = field(3, b"\x08" + varint(5) + b"\x08" + varint(-6))
LONG = field(3, field(1, b"\x85\x80\x80\x00" + varint(-6)))
FLOATS_UNPACKED = field(2, b"\x0d\x00\x00\x80\x3f\x0d\x01\x00\xc0\x7f")
UNKNOWN = varint(9 << 3) + varint(700) + varint(10 << 3 | 1) + b"12345678" + varint(11 << 3 | 5) + b"1234"

ODD: dict[str, tuple[bytes, str]] = {
    "packed": (wire((b"x", INTS)), "int64"),
    "unpacked": (wire((b"x", UNPACKED)), "int64"),
    "varints longer than need be": (wire((b"x", LONG)), "int64"),
    "unpacked floats": (wire((b"x", FLOATS_UNPACKED)), "float32"),
    "the key twice": (wire((b"x", UNPACKED), (b"y", INTS), (b"x", INTS)), "int64"),
    "the value first": (field(1, field(1, field(2, INTS) + field(1, b"x"))), "int64"),
    "features in two parts": (wire((b"y", UNPACKED)) + wire((b"x", INTS)), "int64"),
    "unknown fields of the example": (UNKNOWN + wire((b"x", INTS)) + field(7, b"zz"), "int64"),
    "unicode keys": (wire(("ключ".encode(), UNPACKED), (b"x", INTS)), "int64"),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_encodings(tf: Any, name: str) -> None:
    serialized, dtype = ODD[name]
    agree(tf, [serialized, serialized], {"x": both(tf, "FixedLenFeature", [2], dtype)})
    agree(tf, [serialized, serialized], {"x": both(tf, "VarLenFeature", dtype)})


GROUP = varint(9 << 3 | 3) + UNKNOWN + varint(9 << 3 | 4)
REFUSED_THERE: dict[str, bytes] = {
    "unknown fields of the features": field(1, UNKNOWN + wire((b"x", INTS))[2:]),
    "unknown fields of a feature": wire((b"x", UNKNOWN + INTS + UNKNOWN)),
    "unknown fields of a list": wire((b"x", field(3, UNKNOWN + field(1, b"\x05") + UNKNOWN + b"\x08\x06"))),
    "packed and unpacked": wire((b"x", field(3, field(1, b"\x05\x06") + b"\x08\x07" + field(1, b"")))),
    "two lists": wire((b"x", INTS + UNPACKED)),
    "lists of several kinds": wire((b"x", INTS + FLOATS_UNPACKED + UNPACKED)),
    "an entry without a value": wire((b"x", INTS), (b"y", INTS)) + field(1, field(1, field(1, b"y"))),
    "an entry without a key": field(1, field(1, field(2, INTS))) + wire((b"x", UNPACKED)),
    "groups": GROUP + field(1, GROUP + wire((b"x", GROUP + INTS))[2:]) + GROUP,
    "a wrong wire type of a known field": varint(1 << 3) + b"\x05" + wire((b"x", INTS)),
}


@pytest.mark.parametrize("name", REFUSED_THERE)
def test_what_tensorflow_does_not_parse_is_what_protobuf_says(tf: Any, name: str) -> None:
    message = tf.train.Example.FromString(REFUSED_THERE[name])
    expected = list(message.features.feature["x"].int64_list.value)
    features = {"x": ps.io.VarLenFeature("int64")}
    assert expected
    assert ps.io.parse_single_example(REFUSED_THERE[name], features)["x"].tolist() == expected
    assert ps.io.parse_example([REFUSED_THERE[name]] * 2, features)["x"].to_list() == [expected] * 2


def test_unicode_names(tf: Any) -> None:
    serialized = [wire(("ключ".encode(), INTS), ("日本".encode(), UNPACKED))]
    pairs = {name: both(tf, "FixedLenFeature", [2], "int64") for name in ("ключ", "日本")}
    agree(tf, serialized, pairs)


WRONG: dict[str, tuple[bytes, Any]] = {
    "missing": (b"", ([2], "int64")),
    "too few": (wire((b"x", field(3, field(1, b"\x01")))), ([2], "int64")),
    "too many": (wire((b"x", INTS)), ([], "int64")),
    "an empty list": (wire((b"x", field(3, b""))), ([], "int64")),
    "another kind": (wire((b"x", INTS)), ([2], "float32")),
    "cut": (wire((b"x", INTS))[:-1], ([2], "int64")),
    "a cut varint": (wire((b"x", field(3, field(1, b"\x85")))), ([1], "int64")),
    "a part of a float": (wire((b"x", field(2, field(1, b"123")))), ([1], "float32")),
    "a length beyond the end": (b"\x0a\x7f\x0a", ([1], "int64")),
    "no protobuf": (b"hello", ([1], "int64")),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_tensorflow_refuses_is_refused(tf: Any, name: str) -> None:
    serialized, args = WRONG[name]
    mine, its = both(tf, "FixedLenFeature", *args)
    # Its messages have the record's bytes in them, which are not always text.
    with pytest.raises((tf.errors.InvalidArgumentError, UnicodeDecodeError)):
        tf.io.parse_single_example(serialized, {"x": its})
    with pytest.raises(ps.errors.DataError):
        ps.io.parse_single_example(serialized, {"x": mine})


FEATURES = st.dictionaries(
    st.text(max_size=8).filter(lambda text: text.encode(errors="replace").decode() == text),
    st.one_of(
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5).map(lambda v: (v, "int64")),
        st.lists(st.floats(width=32), min_size=1, max_size=5).map(lambda v: (v, "float32")),
        st.lists(st.binary(max_size=20), min_size=1, max_size=5).map(lambda v: (v, "string")),
    ),
    max_size=6,
)


@quickly
@given(features=FEATURES)
def test_any_example_there_and_back(tf: Any, features: dict[str, tuple[Any, str]]) -> None:
    theirs = example(tf, **features)
    plain = {
        name: np.array(values, object if dtype == "string" else dtype)
        for name, (values, dtype) in features.items()
    }
    names = sorted(features)
    if not any(name.startswith(other) for name in names for other in names if name != other):
        # Of two keys one of which begins with the other, the library in use writes the longer first.
        assert ps.io.serialize_example(plain) == theirs
    message = tf.train.Example.FromString(ps.io.serialize_example(plain))
    assert message.SerializeToString(deterministic=True) == theirs
    pairs = {
        name: both(tf, "FixedLenFeature", [len(values)], dtype) for name, (values, dtype) in features.items()
    }
    if pairs:
        mine = ps.io.parse_single_example(theirs, {name: pair[0] for name, pair in pairs.items()})
        its = tf.io.parse_single_example(theirs, {name: pair[1] for name, pair in pairs.items()})
        same(mine, its, tf)


def test_serialized_over_a_block_is_what_protobuf_writes(tf: Any) -> None:
    columns = {
        "a": np.arange(-3, 4),
        "b": np.linspace(0, 1, 7),
        "c": np.array([b"x" * n for n in range(7)], object),
    }
    ds = ps.Dataset.from_tensor_slices(columns).map(lambda one: ps.io.serialize_example(one))
    for i, got in enumerate(ds):
        row = {"a": ([i - 3], "int64"), "b": ([columns["b"][i]], "float32"), "c": ([b"x" * i], "string")}
        assert got == example(tf, **row)


def test_empty_lists_keep_their_kind(tf: Any) -> None:
    empty = {"a": np.zeros(0, np.int64), "b": np.zeros(0, np.float32)}
    assert ps.io.serialize_example(empty) == example(tf, a=([], "int64"), b=([], "float32"))
    unset = tf.train.Example(features=tf.train.Features(feature={"a": tf.train.Feature()}))
    assert ps.io.serialize_example({"a": None}) == unset.SerializeToString()
    assert ps.io.serialize_example({"a": []}) == unset.SerializeToString()


def sequence(tf: Any, context: dict[str, Any], lists: dict[str, tuple[list[Any], str]]) -> bytes:
    made = {
        name: tf.train.FeatureList(feature=[feature(tf, step, dtype) for step in steps])
        for name, (steps, dtype) in lists.items()
    }
    message = tf.train.SequenceExample(
        context=tf.train.Features(feature={name: feature(tf, *value) for name, value in context.items()}),
        feature_lists=tf.train.FeatureLists(feature_list=made),
    )
    return bytes(message.SerializeToString(deterministic=True))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("kind", "args"), [("dense", []), ("dense", [2]), ("var", None), ("ragged", None)])
def test_sequence_examples(tf: Any, dtype: str, kind: str, args: Any) -> None:
    values = VALUES[dtype]
    size = int(np.prod(args)) if args is not None else 0
    lists = [
        [values[n : n + size] if kind == "dense" else values[: n % 3] for n in range(steps)]
        for steps in (2, 0, 3)
    ]
    context = {"id": both(tf, "FixedLenFeature", [], "int64"), "w": both(tf, "VarLenFeature", "float32")}
    serialized = [
        sequence(tf, {"id": ([i], "int64"), "w": ([0.5] * i, "float32")}, {"x": (steps, dtype)})
        for i, steps in enumerate(lists)
    ]
    if kind == "dense":
        pair = both(tf, "FixedLenSequenceFeature", args, dtype)
    else:
        pair = both(tf, "VarLenFeature" if kind == "var" else "RaggedFeature", dtype)
    mine = ({name: one[0] for name, one in context.items()}, {"x": pair[0]})
    its = ({name: one[1] for name, one in context.items()}, {"x": pair[1]})
    expected = tf.io.parse_sequence_example(serialized, *its)
    got = ps.io.parse_sequence_example(serialized, *mine)
    for name in ("id", "w"):
        same(got[0][name], expected[0][name], tf)
    same(got[1], expected[1], tf)
    same(got[2], expected[2], tf)
    singles = [tf.io.parse_single_sequence_example(one, *its) for one in serialized]
    for one, parsed in zip(serialized, singles, strict=True):
        same(ps.io.parse_single_sequence_example(one, *mine), parsed, tf)
    ds = ps.Dataset.from_tensor_slices(np.array(serialized * 3, object))
    contexts, steps = mine
    parsed_ds = ds.map(lambda one: ps.io.parse_single_sequence_example(one, contexts, steps))
    for from_map, parsed in zip(parsed_ds, singles * 3, strict=True):
        same(from_map, parsed, tf)


def test_a_sequence_example_is_what_protobuf_writes(tf: Any) -> None:
    expected = sequence(
        tf, {"id": ([3], "int64")}, {"x": ([[1, 2], [3]], "int64"), "s": ([[b"a"], [b"bc"]], "string")}
    )
    assert ps.io.serialize_sequence_example({"id": 3}, {"x": [[1, 2], [3]], "s": [b"a", b"bc"]}) == expected


@pytest.mark.parametrize(
    "dtype", ["uint8", "int8", "int16", "uint16", "int32", "int64", "float16", "float32", "float64", "bool"]
)
@pytest.mark.parametrize("little", [True, False])
def test_decode_raw(tf: Any, dtype: str, little: bool) -> None:
    raw = bytes(range(32)) if dtype != "bool" else bytes([0, 1] * 16)
    one = tf.io.decode_raw(raw, dtype, little_endian=little)
    same(ps.io.decode_raw(raw, dtype, little_endian=little), one, tf)
    many = [raw[:16], raw[16:]]
    same(
        ps.io.decode_raw(many, dtype, little_endian=little),
        tf.io.decode_raw(many, dtype, little_endian=little),
        tf,
    )
    for size in (8, 24) if dtype not in ("float16", "bool") else ():  # TensorFlow cannot pad those
        cut = [b"", raw[:9], raw]
        expected = tf.io.decode_raw(cut, dtype, little_endian=little, fixed_length=size)
        same(ps.io.decode_raw(cut, dtype, little_endian=little, fixed_length=size), expected, tf)
