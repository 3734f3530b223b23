"""`penstock inspect` on files that TensorFlow has written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.inspected import by_name, look_one

tf = pytest.importorskip("tensorflow")


def feature(**lists: Any) -> Any:
    kinds = {"int64": tf.train.Int64List, "float": tf.train.FloatList, "bytes": tf.train.BytesList}
    ((kind, values),) = lists.items()
    return tf.train.Feature(**{f"{kind}_list": kinds[kind](value=values)})


@pytest.mark.parametrize("packing", ["", "GZIP", "ZLIB"])
def test_given_examples_of_tensorflow_then_features_are_as_they_were_written(
    tmp_path: Path, packing: str
) -> None:
    path = tmp_path / "data"
    with tf.io.TFRecordWriter(str(path), packing) as writer:
        for i in range(20):
            features = {
                "n": feature(int64=[-i, i]),
                "f": feature(float=[i / 4]),
                "b": feature(bytes=[b"x" * i]),
            }
            if i % 2:
                features["empty"] = tf.train.Feature()
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())
    found = look_one(path)
    columns = by_name(found)
    assert (found.content, found.records, found.compression or "") == ("tf.train.Example", 20, packing)
    assert (columns["n"].range, columns["n"].values) == ((-19, 19), (2, 2))
    assert (columns["f"].range, columns["b"].bytes) == ((0.0, 4.75), (0, 19))
    assert (columns["empty"].dtype, columns["empty"].present) == ("empty", 10)
    assert found.status == 0


def test_given_sequence_examples_of_tensorflow_then_lists_are_told(tmp_path: Path) -> None:
    path = tmp_path / "data"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for i in range(5):
            steps = tf.train.FeatureList(feature=[feature(int64=[j]) for j in range(i)])
            example = tf.train.SequenceExample(
                context=tf.train.Features(feature={"c": feature(bytes=[b"a"])}),
                feature_lists=tf.train.FeatureLists(feature_list={"s": steps}),
            )
            writer.write(example.SerializeToString())
    found = look_one(path)
    assert found.content == "tf.train.SequenceExample"
    assert (by_name(found)["s"].steps, by_name(found)["s"].range) == ((0, 4), (0, 3))
