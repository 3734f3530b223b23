"""TensorFlow, sharding under a strategy: every replica trains on its own part of each batch.

The dataset knows nothing of the strategy. With several machines, each would take its own shard:
`ds.shard(context.num_input_pipelines, context.input_pipeline_id)`, as below.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from _memory import held
from tensorflow_epochs import create_dataset, create_model

GLOBAL_BATCH = 64

if __name__ == "__main__":
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

    def pipeline(context: tf.distribute.InputContext) -> tf.data.Dataset:
        """What one machine reads: its shard, in batches for one replica."""
        elements = create_dataset().unbatch()
        shard = elements.shard(context.num_input_pipelines, context.input_pipeline_id)
        batch_size = context.get_per_replica_batch_size(GLOBAL_BATCH)
        return shard.shuffle(1000, seed=0).batch(batch_size, drop_remainder=True).as_tensorflow()

    dataset = strategy.distribute_datasets_from_function(pipeline)
    with strategy.scope():
        model = create_model()
        optimizer = tf.keras.optimizers.Adam(0.01)
        optimizer.build(model.trainable_variables)

    @tf.function
    def train_step(x: Any, y: Any) -> Any:
        """One batch on every replica."""

        def on_replica(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.keras.losses.binary_crossentropy(y, model(x)))
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
            return loss

        return strategy.reduce("MEAN", strategy.run(on_replica, args=(x, y)), axis=None)

    print(f"{strategy.num_replicas_in_sync} replicas")
    for epoch in range(4):
        losses = [float(train_step(x, y)) for x, y in dataset]
        print(f"epoch {epoch + 1}: {len(losses)} steps, loss {np.mean(losses):.4f}, {held()}", flush=True)
