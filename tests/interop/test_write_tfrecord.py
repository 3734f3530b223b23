"""A data set that was written here is read by TensorFlow as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from interop.words import Words
from penstock.writing.manifest import load_manifest

N = 3000


def rows() -> ps.Dataset:
    bits = np.random.default_rng(4)
    return ps.Dataset.from_tensor_slices(
        {
            "id": bits.integers(-(2**62), 2**62, N),
            "image": bits.integers(0, 256, (N, 16, 16), np.uint8),
            "score": bits.random((N, 3), np.float32),
            "name": [f"näme {i}" for i in range(N)],
        }
    )


def asked(tf: Any, folder: Path) -> dict[str, Any]:
    """What TensorFlow's parser is asked for, by the manifest alone."""
    manifest = load_manifest(folder)
    assert manifest is not None
    assert manifest.features is not None
    kinds = {"int64": tf.int64, "float32": tf.float32, "bytes": tf.string}
    return {
        name: tf.io.FixedLenFeature(one.shape, kinds[one.stored]) for name, one in manifest.features.items()
    }


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_given_a_data_set_then_tensorflow_parses_every_element(
    compression: str, theirs: Words, tmp_path: Path
) -> None:
    tf = theirs.tf  # type: ignore[attr-defined]
    written = rows().write_tfrecord(tmp_path, shards=3, compression=compression or None)
    features = asked(tf, tmp_path)
    ds = tf.data.TFRecordDataset(list(written.shards), compression)
    count = 0
    parsed = ds.batch(100).map(lambda records: tf.io.parse_example(records, features)).unbatch()
    for mine, its in zip(rows(), parsed.as_numpy_iterator(), strict=True):
        assert mine["id"] == its["id"]
        assert np.array_equal(mine["image"], its["image"])
        assert np.array_equal(mine["score"], its["score"])
        assert mine["name"].encode() == its["name"]
        count += 1
    assert count == N


def test_given_an_example_then_it_has_the_values_that_the_message_of_tensorflow_has(
    theirs: Words, tmp_path: Path
) -> None:
    tf = theirs.tf  # type: ignore[attr-defined]
    written = rows().take(1).write_tfrecord(tmp_path, shards=1)
    (record,) = tf.data.TFRecordDataset(list(written.shards)).as_numpy_iterator()
    message = tf.train.Example.FromString(record)
    (row,) = rows().take(1)
    assert message.features.feature["id"].int64_list.value == [int(row["id"])]
    assert message.features.feature["image"].int64_list.value == row["image"].ravel().tolist()
    assert message.features.feature["name"].bytes_list.value == [row["name"].encode()]
