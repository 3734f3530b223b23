"""The same mistakes, written in other ways: aliases, several lines, functions, methods."""

from __future__ import annotations

from textwrap import dedent

import pytest

from penstock.doctor.lint import lint_text

TORCH_LOOP = """
import torch
def train(loader, model, criterion, optimizer, scaler, accelerator, epochs, log):
    {before}
    for epoch in range(epochs):
        for x, y in loader:
            loss = criterion(model(x), y)
            {backward}
            {after}
"""


def torch_loop(before: str, after: str, backward: str = "loss.backward()") -> str:
    return TORCH_LOOP.format(before=before, backward=backward, after=after)


CASES = {
    "a dataset made by a function": (
        "PSK001",
        """
        from tensorflow.data import Dataset as D
        def make(x):
            return D.from_tensor_slices(x).batch(8)
        def train(x, model):
            for epoch in range(9):
                model.fit(make(x))
        """,
    ),
    "a dataset with a lambda whose parameter is called as the loop's own variable": (
        "PSK001",
        """
        import penstock as ps
        def train(files, model):
            for epoch in range(10):
                ds = ps.TFRecordDataset(files).map(lambda x: x[:9]).batch(32)
                for x in ds:
                    model(x)
        """,
    ),
    "a dataset made in several lines of a while loop": (
        "PSK001",
        """
        import penstock
        def train(files):
            while True:
                ds = penstock.TFRecordDataset(files)
                ds = ds.shuffle(100)
                for batch in ds.batch(8):
                    print(batch)
        """,
    ),
    "from_generator through a function": (
        "PSK002",
        """
        import tensorflow as tf
        def make(part):
            return tf.data.Dataset.from_generator(lambda: part, output_types=tf.int32)
        def run(parts, model):
            for part in parts:
                model.fit(make(part))
        """,
    ),
    "a random layer before a cache": (
        "PSK003",
        """
        from tensorflow import keras
        import tensorflow as tf
        augment = keras.Sequential([keras.layers.RandomFlip("horizontal"), keras.layers.Rescaling(1 / 255)])
        ds = tf.data.TFRecordDataset("a").map(lambda x, y: (augment(x, training=True), y)).cache()
        """,
    ),
    "a random function behind another one": (
        "PSK003",
        """
        import penstock as ps
        from functools import partial
        def jitter(x, by):
            return x + ps.random.uniform([], maxval=by)
        def both(x):
            return jitter(x, 3)
        ds = ps.Dataset.range(9).map(partial(both)).cache()
        """,
    ),
    "a shuffle before a cache": (
        "PSK003",
        """
        import tensorflow as tf
        def read(files):
            ds = tf.data.TFRecordDataset(files).shuffle(1000)
            ds = ds.cache()
            return ds.batch(32)
        """,
    ),
    "batch and shuffle in two functions": (
        "PSK006",
        """
        import tensorflow.compat.v2 as t
        def batched(files):
            return t.data.TFRecordDataset(files).batch(4)
        def mixed(files):
            ds = batched(files)
            return ds.shuffle(100)
        """,
    ),
    "shuffle(1) by name": (
        "PSK007",
        """
        import tensorflow as tf
        SIZE = 1
        ds = tf.data.Dataset.range(9).shuffle(buffer_size=SIZE)
        """,
    ),
    "shuffle(1) through a parameter": (
        "PSK007",
        """
        import penstock as ps
        def mixed(ds, size=100):
            return ds.shuffle(size)
        ds = mixed(ps.Dataset.range(9), size=1)
        """,
    ),
    "a hundred million rows": (
        "PSK008",
        """
        import tensorflow as tf
        ds = tf.data.Dataset.range(10**9).shuffle(int(1e8))
        """,
    ),
    "prefetch in one branch, batch after": (
        "PSK009",
        """
        import tensorflow as tf
        def read(ds: tf.data.Dataset, training):
            if training:
                ds = ds.prefetch(tf.data.AUTOTUNE)
            else:
                ds = ds.prefetch(1)
            ds = ds.batch(8)
            return ds
        """,
    ),
    "AUTOTUNE by another name": (
        "PSK010",
        """
        import tensorflow as tf
        AUTO = tf.data.experimental.AUTOTUNE
        ds = tf.data.Dataset.range(9).batch(2).prefetch(buffer_size=AUTO)
        for batch in ds:
            print(batch)
        """,
    ),
    "AUTOTUNE behind batches that are padded to the longest": (
        "PSK010",
        """
        import tensorflow as tf
        ds = tf.data.TFRecordDataset("a").padded_batch(8, ([None], [])).prefetch(tf.data.AUTOTUNE)
        model.fit(ds)
        """,
    ),
    "AUTOTUNE in every process of a host": (
        "PSK010",
        """
        import horovod.tensorflow as hvd
        import tensorflow as tf
        ds = tf.data.TFRecordDataset("a").shard(hvd.size(), hvd.rank()).batch(8).prefetch(tf.data.AUTOTUNE)
        model.fit(ds)
        """,
    ),
    "a cache in several lines, read by one filter alone": (
        "PSK004",
        """
        import tensorflow as tf
        cached = tf.data.TFRecordDataset("a").map(read).cache()
        wide = cached.filter(lambda x: x > 3)
        """,
    ),
    "from_generator in every epoch, by a name": (
        "PSK002",
        """
        import tensorflow as tf
        def train(epochs, source, spec, model):
            history = []
            for epoch in range(epochs):
                ds = tf.data.Dataset.from_generator(source.rows, output_signature=spec).batch(8)
                history.append(model.fit(ds))
        """,
    ),
    "an array loaded by Keras, in graph mode": (
        "PSK011",
        """
        import tensorflow.compat.v1 as tf
        tf.disable_v2_behavior()
        (x, y), (tx, ty) = tf.keras.datasets.mnist.load_data()
        ds = tf.data.Dataset.from_tensor_slices((x, y))
        """,
    ),
    "an iterator that an object keeps": (
        "PSK012",
        """
        import penstock as ps
        class Feed:
            def __init__(self, files):
                self.it = ps.TFRecordDataset(files).batch(8).iterate()
            def batch(self):
                return next(self.it)
        """,
    ),
    "an endless loop": (
        "PSK013",
        """
        import penstock as ps
        for x in ps.Dataset.range(9).repeat().batch(3):
            print(x)
        """,
    ),
    "an endless loop over tensors": (
        "PSK013",
        """
        import penstock as ps
        for x in ps.Dataset.range(9).repeat().batch(3).as_torch(device="cpu"):
            print(x)
        """,
    ),
    "endless validation": (
        "PSK013",
        """
        import tensorflow as tf
        held = tf.data.Dataset.range(9).repeat(-1)
        model.fit(train, validation_data=held, steps_per_epoch=3)
        """,
    ),
    "a list of an endless dataset": (
        "PSK013",
        """
        import penstock as ps
        rows = list(ps.Dataset.range(9).repeat(None))
        """,
    ),
    "a file cache of an endless dataset": (
        "PSK014",
        """
        import tensorflow as tf
        ds = tf.data.Dataset.range(9).repeat()
        ds = ds.cache("/tmp/x")
        """,
    ),
    "Python's randomness in a named function": (
        "PSK015",
        """
        import random
        import tensorflow as tf
        def turn(x):
            if random.random() > 0.5:
                return x[::-1]
            return x
        ds = tf.data.Dataset.range(9).batch(3).map(turn, num_parallel_calls=4)
        """,
    ),
    "next(iter()) of a loader that was handed in": (
        "PSK016",
        """
        import torch
        def train(train_loader, step):
            for number in range(1000):
                step(next(iter(train_loader)))
        """,
    ),
    "next(iter()) of a dataset": (
        "PSK016",
        """
        import tensorflow as tf
        ds = tf.data.Dataset.range(9).shuffle(9)
        while True:
            x = next(iter(ds))
        """,
    ),
    "a decorated function in a loop": (
        "PSK101",
        """
        import tensorflow as tf
        def run(xs):
            for x in xs:
                @tf.function(jit_compile=True)
                def step(v):
                    return v * 2
                step(x)
        """,
    ),
    "a tf.function in a function that a loop calls": (
        "PSK101",
        """
        import tensorflow as tf
        def one(x):
            step = tf.function(lambda v: v * 2)
            return step(x)
        def run(xs):
            for x in xs:
                one(x)
        """,
    ),
    "a variable in a loop of a session": (
        "PSK103",
        """
        import tensorflow.compat.v1 as tf
        def run(xs):
            sess = tf.Session()
            for x in xs:
                sess.run(tf.add(x, 1))
            sess.close()
        """,
    ),
    "a session of an object": (
        "PSK103",
        """
        import tensorflow as tf
        v1 = tf.compat.v1
        class Model:
            def __init__(self):
                self.sess = v1.Session()
            def train(self, xs):
                for x in xs:
                    y = v1.reduce_mean(x)
                    self.sess.run(y)
        """,
    ),
    "a step counter of a while loop": (
        "PSK104",
        """
        import tensorflow as tf
        class Trainer:
            @tf.function
            def step(self, x, number):
                return x + number
            def train(self, x):
                number = 0
                while number < 1000:
                    self.step(x, number)
                    number += 1
        """,
    ),
    "a learning rate computed from the epoch": (
        "PSK104",
        """
        import tensorflow as tf
        step = tf.function(lambda x, rate: x * rate)
        def train(x):
            for epoch in range(100):
                step(x, rate=0.1 * 0.9**epoch)
        """,
    ),
    "a growing slice": (
        "PSK105",
        """
        import tensorflow as tf
        @tf.function
        def score(x):
            return x
        def run(x, n):
            for i in range(n):
                score(x[:, : i + 1])
        """,
    ),
    "a tensor appended in a map": (
        "PSK106",
        """
        import tensorflow as tf
        seen = []
        def keep(x):
            seen.append(x)
            return x
        ds = tf.data.Dataset.range(9).map(keep)
        """,
    ),
    "losses in a dict of lists": (
        "PSK201",
        torch_loop('log = {"loss": []}', 'log["loss"].append(loss)'),
    ),
    "losses of a scaler": (
        "PSK201",
        torch_loop("kept = []", "kept.append(loss)", "scaler.scale(loss).backward()"),
    ),
    "losses of accelerate": (
        "PSK201",
        torch_loop("kept = []", "kept.append(loss * 2)", "accelerator.backward(loss)"),
    ),
    "outputs of a model in training": (
        "PSK201",
        """
        import torch
        def train(loader, model, criterion):
            opt = torch.optim.SGD(model.parameters(), lr=0.1)
            outs = []
            for x, y in loader:
                out = model(x)
                loss = criterion(out, y)
                loss.backward()
                opt.step()
                outs.append(out)
        """,
    ),
    "a part of the loss": (
        "PSK201",
        """
        import torch
        def train(loader, model, first, second):
            kept = []
            for x, y in loader:
                loss_a = first(model(x), y)
                loss_b = second(model(x), y)
                loss = loss_a + 0.1 * loss_b
                loss.backward()
                kept.append(loss_b)
        """,
    ),
    "a total over epochs": ("PSK202", torch_loop("total = 0", "total = total + loss")),
    "a weighted total": ("PSK202", torch_loop("total = torch.zeros(1)", "total += loss * x.size(0)")),
    "a total of an object": (
        "PSK202",
        """
        import torch
        class Trainer:
            def train(self, loader):
                self.total = 0.0
                for x, y in loader:
                    loss = self.loss(x, y)
                    loss.backward()
                    self.total += loss
        """,
    ),
    "a validation loss that is added up": (
        "PSK205",
        """
        import torch
        def validate(model, loader, criterion):
            model.eval()
            total = 0
            for x, y in loader:
                out = model(x)
                total += criterion(out, y)
            return total
        """,
    ),
    "samples moved to a device by name": (
        "PSK206",
        """
        import torch
        from torch.utils import data
        DEVICE = "cuda:0"
        class Base(data.Dataset):
            pass
        class Images(Base):
            def __getitem__(self, i):
                x = torch.zeros(3)
                return x.to(DEVICE)
        """,
    ),
    "a list filled in a loop": (
        "PSK207",
        """
        import torch.utils.data as data
        class Rows(data.Dataset):
            def __init__(self, path):
                self.rows = []
                for line in open(path):
                    self.rows.append(line.split())
            def __getitem__(self, i):
                return self.rows[i]
        def make(path, n):
            rows = Rows(path)
            return data.DataLoader(rows, 8, num_workers=n)
        """,
    ),
    "a cache on a method that reads": (
        "PSK211",
        """
        import functools
        from torch.utils.data import Dataset
        class Rows(Dataset):
            @functools.cache
            def read(self, i):
                return self.file[i]
        """,
    ),
    "models of a function, in folds": (
        "PSK301",
        """
        from tensorflow.keras import layers, models
        def build():
            model = models.Sequential()
            model.add(layers.Dense(1))
            model.compile(loss="mse")
            return model
        def cross(folds, x, y):
            for train, test in folds.split(x):
                model = build()
                model.fit(x[train], y[train])
        """,
    ),
    "a model by a long name": (
        "PSK301",
        """
        import tensorflow.compat.v2 as t
        def search(sizes, x):
            for size in sizes:
                net = t.keras.models.Sequential([t.keras.layers.Dense(size)])
                net.fit(x)
        """,
    ),
    "a model of a class": (
        "PSK301",
        """
        import keras
        class Net(keras.Model):
            pass
        def search(sizes, ds):
            for size in sizes:
                net = Net(size)
                net.compile(loss="mse")
                net.fit(ds)
        """,
    ),
    "predict with a new axis": (
        "PSK302",
        """
        import numpy as np
        import tensorflow as tf
        net = tf.keras.applications.ResNet50()
        def score(images):
            for image in images:
                batch = image[np.newaxis, ...]
                net.predict(batch)
        """,
    ),
    "jit of a partial": (
        "PSK401",
        """
        from functools import partial
        from jax import jit
        def run(f, xs):
            for x in xs:
                jit(partial(f, 3))(x)
        """,
    ),
    "an inner jitted function of a function that a loop calls": (
        "PSK401",
        """
        import jax
        def scan(x, n):
            @jax.jit
            def inner(v):
                return v * n
            return inner(x)
        def run(xs, n):
            return [scan(x, n) for x in xs]
        """,
    ),
    "a static argument by its name": (
        "PSK402",
        """
        import jax
        def f(x, step):
            return x
        g = jax.jit(f, static_argnames="step")
        def run(x, n):
            for i in range(n):
                x = g(x, step=i)
        """,
    ),
    "a cache before take, in several lines": (
        "PSK005",
        """
        import tensorflow as tf
        def read(files):
            ds = tf.data.TFRecordDataset(files)
            ds = ds.cache()
            ds = ds.take(100)
            return ds
        """,
    ),
    "batch and shuffle of one of the splits that were loaded": (
        "PSK006",
        """
        import tensorflow_datasets as tfds
        import tensorflow as tf
        (train, test), info = tfds.load("mnist", split=["train", "test"], with_info=True)
        train = train.batch(32).shuffle(1000)
        """,
    ),
    "randomness of Python in a tf.function": (
        "PSK015",
        """
        from random import randint
        import tensorflow as tf
        @tf.function
        def step(x):
            return x * randint(1, 3)
        """,
    ),
    "randomness of NumPy in a jitted function": (
        "PSK015",
        """
        from functools import partial
        import jax
        import numpy as np
        @partial(jax.jit, static_argnums=0)
        def noisy(n, x):
            return x + np.random.normal(size=n)
        """,
    ),
    "a new iterator of a dataset that is annotated": (
        "PSK016",
        """
        import tensorflow as tf
        def train(ds: tf.data.Dataset, steps, model):
            for step in range(steps):
                model(next(iter(ds)))
        """,
    ),
    "a new iterator of a loader that an object holds": (
        "PSK016",
        """
        from torch.utils.data import DataLoader
        class Trainer:
            def __init__(self, rows):
                self.loader = DataLoader(rows, 32)
            def train(self, steps):
                for _ in range(steps):
                    self.step(next(iter(self.loader)))
        """,
    ),
    "an array that each round makes longer": (
        "PSK105",
        """
        import jax
        import jax.numpy as jnp
        @jax.jit
        def score(tokens):
            return tokens.sum()
        def decode(tokens, pick):
            for _ in range(100):
                tokens = jnp.concatenate([tokens, pick(tokens)])
                score(tokens)
        """,
    ),
    "a tensor of a trace that an object keeps": (
        "PSK106",
        """
        import tensorflow as tf
        class Trainer:
            @tf.function
            def step(self, x):
                loss = tf.reduce_mean(x)
                self.losses.append(loss)
                return loss
        """,
    ),
    "a loss added as a list": ("PSK201", torch_loop("seen = []", "seen += [loss]")),
    "a loss appended with its epoch": ("PSK201", torch_loop("seen = []", "seen.append((epoch, loss))")),
    "a loss appended in a dictionary": ("PSK201", torch_loop("seen = []", 'seen.append({"loss": loss})')),
    "a loss put in the place of its step": (
        "PSK201",
        """
        import torch
        def train(loader, model, criterion, optimizer):
            seen = {}
            for step, (x, y) in enumerate(loader):
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                seen[step] = loss
        """,
    ),
    "outputs of a model that an object holds": (
        "PSK205",
        """
        import torch
        class Trainer:
            def predict(self, loader):
                self.model.eval()
                kept = []
                for x in loader:
                    out = self.model(x)
                    kept.append(out)
                return torch.cat(kept)
        """,
    ),
    "outputs in a comprehension": (
        "PSK205",
        """
        import torch
        def predict(model, loader):
            model.eval()
            return torch.cat([model(x) for x in loader])
        """,
    ),
    "a device that is a GPU where there is one": (
        "PSK206",
        """
        import torch
        from torch.utils.data import DataLoader, Dataset
        DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        class Rows(Dataset):
            def __getitem__(self, i):
                return torch.tensor(self.rows[i], device=DEVICE)
        loader = DataLoader(Rows(), batch_size=8, num_workers=4)
        """,
    ),
    "a hook in a method that a loop calls": (
        "PSK210",
        """
        import torch
        class Probe:
            def look(self, x):
                self.net.fc.register_forward_hook(self.keep)
                return self.net(x)
            def run(self, loader):
                return [self.look(x) for x in loader]
        """,
    ),
    "predict of a model that an object holds": (
        "PSK302",
        """
        import numpy as np
        from tensorflow.keras.models import load_model
        class Scorer:
            def __init__(self):
                self.model = load_model("a.keras")
            def score(self, images):
                return [self.model.predict(np.expand_dims(image, 0)) for image in images]
        """,
    ),
    "predict in a function that a loop calls": (
        "PSK302",
        """
        import numpy as np
        from tensorflow.keras.models import load_model
        model = load_model("a.keras")
        def score(image):
            return model.predict(image[np.newaxis])[0]
        for image in images:
            print(score(image))
        """,
    ),
    "a loader that a function makes for every epoch": (
        "PSK208",
        """
        from torch.utils.data import DataLoader
        def loader(rows):
            return DataLoader(rows, 32, num_workers=4)
        def train(rows, model, epochs):
            for epoch in range(epochs):
                for x in loader(rows):
                    model(x)
        """,
    ),
    "empty_cache after a backward without a name": (
        "PSK213",
        """
        from torch import cuda
        def train(loader, model, optimizer):
            for x in loader:
                model(x).sum().backward()
                optimizer.step()
                cuda.empty_cache()
        """,
    ),
    "a meter that lists what it gets": (
        "PSK214",
        """
        import torch
        class Meter:
            def __init__(self):
                self.values = []
            def add(self, value):
                self.values.append(value)
        def train(loader, model, criterion, optimizer):
            meter = Meter()
            for x, y in loader:
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                meter.add(loss)
        """,
    ),
    "compile before every batch": (
        "PSK303",
        """
        import keras
        def train(batches):
            model = keras.Sequential([keras.layers.Dense(2)])
            for x, y in batches:
                model.compile(optimizer="sgd", loss="mse")
                model.train_on_batch(x, y)
        """,
    ),
    "operations in the loop of a session that was handed in": (
        "PSK103",
        """
        import tensorflow as tf
        tf.compat.v1.disable_eager_execution()
        def run(sess, xs):
            for x in xs:
                sess.run(tf.square(x))
        """,
    ),
    "jit of a partial that has a name": (
        "PSK401",
        """
        import functools
        import jax
        def train(xs, step, p):
            for x in xs:
                bound = functools.partial(step, x)
                p = jax.jit(bound)(p)
        """,
    ),
    "several models in one loop": (
        "PSK301",
        """
        import keras
        def search(x, y, sizes):
            for size in sizes:
                one = keras.Sequential([keras.layers.Dense(size)])
                two = keras.Sequential([keras.layers.Dense(size)])
                one.fit(x, y)
                two.fit(x, y)
        """,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_given_a_mistake_in_other_words_then_it_is_found_once(name: str) -> None:
    code, text = CASES[name]
    assert [found.code for found in lint_text(dedent(text))] == [code]


def test_given_several_pipelines_without_a_budget_then_one_finding_a_file_is_enough() -> None:
    line = "for x in tf.data.Dataset.range(9).ragged_batch(2).prefetch(tf.data.AUTOTUNE):\n    print(x)\n"
    assert [found.line for found in lint_text("import tensorflow as tf\n" + line + line)] == [2]


def test_given_a_chain_over_several_lines_then_the_line_is_that_of_the_method() -> None:
    text = "import penstock as ps\nds = (\n    ps.Dataset.range(9)\n    .batch(3)\n    .shuffle(100)\n)\n"
    (found,) = lint_text(text)
    assert (found.line, found.column, found.end_line, found.code) == (5, 6, 5, "PSK006")


def test_given_a_short_call_then_the_place_is_where_it_begins_and_ends() -> None:
    (found,) = lint_text("import penstock as ps\nds = ps.Dataset.range(9).shuffle(1)\n")
    assert (found.line, found.column, found.end_line, found.end_column) == (2, 6, 2, 36)
