"""One of several workers under `MultiWorkerMirroredStrategy`: prints what it has read."""

from __future__ import annotations

import json
from typing import Any

import tensorflow as tf

import penstock as ps


def main() -> None:
    """Read in both ways, and add up over all workers."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    whole = ps.Dataset.range(64)

    def shard(context: Any) -> Any:
        part = whole.shard(context.num_input_pipelines, context.input_pipeline_id)
        return part.shuffle(32, seed=1).batch(context.get_per_replica_batch_size(8)).as_tensorflow()

    @tf.function
    def total(batch: Any) -> Any:
        return strategy.reduce("SUM", strategy.run(tf.reduce_sum, args=(batch,)), axis=None)

    def numbers(batch: Any) -> list[int]:
        return [int(x) for part in strategy.experimental_local_results(batch) for x in part]

    own: list[int] = []
    sums = []
    for batch in strategy.distribute_datasets_from_function(shard):
        sums.append(int(total(batch)))
        own += numbers(batch)

    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    batches = whole.batch(8).as_tensorflow().with_options(options)
    shared: list[int] = []
    for batch in strategy.experimental_distribute_dataset(batches):
        shared += numbers(batch)
    print(json.dumps({"own shard": own, "sharded by TensorFlow": shared, "sums": sums}))


if __name__ == "__main__":
    main()
