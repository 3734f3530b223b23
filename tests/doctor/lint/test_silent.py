"""Code that looks like a mistake and is none: lint keeps quiet."""

from __future__ import annotations

from textwrap import dedent

import pytest

from penstock.doctor.lint import lint_text

CASES = {
    "a dataset a file": """
        import tensorflow as tf
        def all_of(files):
            for file in files:
                yield tf.data.TFRecordDataset(file).batch(8)
        """,
    "a dataset of data that the loop collects": """
        import tensorflow as tf
        def learn(buffer, model, rounds):
            for _ in range(rounds):
                buffer.collect()
                ds = tf.data.Dataset.from_tensor_slices(buffer.rows)
                model.fit(ds)
        """,
    "a dataset of a list that the loop appends to": """
        import penstock as ps
        def learn(rounds, model):
            rows = []
            for number in range(rounds):
                rows.append(number)
                model.fit(ps.Dataset.from_tensor_slices(rows))
        """,
    "a dataset of random data, new each time": """
        import numpy as np
        import tensorflow as tf
        for _ in range(9):
            ds = tf.data.Dataset.from_tensor_slices(np.random.rand(3, 3))
        """,
    "a loop that breaks after the dataset": """
        import tensorflow as tf
        def read(path):
            while True:
                ds = tf.data.TFRecordDataset(path)
                break
            return ds
        """,
    "a loop that tries again": """
        import tensorflow as tf
        def read(path):
            for attempt in range(5):
                try:
                    return tf.data.TFRecordDataset(path)
                except OSError:
                    pass
        """,
    "a dataset made once, in the first round": """
        import tensorflow as tf
        def train(path, n):
            ds = None
            for _ in range(n):
                if ds is None:
                    ds = tf.data.TFRecordDataset(path)
        """,
    "two splits, written out": """
        import tensorflow as tf
        sets = {}
        for split in ("train", "test"):
            sets[split] = tf.data.Dataset.range(9).batch(3)
        """,
    "a dataset in a function that is made in a loop": """
        import tensorflow as tf
        def makers(n):
            made = []
            for _ in range(n):
                def make():
                    return tf.data.Dataset.range(9)
                made.append(make)
            return made
        """,
    "the dataset that a loop goes over": """
        import tensorflow as tf
        for x in tf.data.Dataset.range(9).batch(3):
            print(x)
        """,
    "a name that means something else by then": """
        import tensorflow as tf
        tf = object()
        ds = tf.data.Dataset.range(9).batch(3).shuffle(1)
        """,
    "a parameter that hides the module": """
        import tensorflow as tf
        def f(tf):
            return tf.data.Dataset.range(9).batch(3).shuffle(100)
        """,
    "a class of one's own with the same methods": """
        import tensorflow
        class Deck:
            def batch(self, n): return self
            def shuffle(self, n): return self
        deck = Deck().batch(3).shuffle(1)
        """,
    "batches on one branch, a shuffle on the other": """
        import tensorflow as tf
        def read(path, training):
            ds = tf.data.TFRecordDataset(path)
            if not training:
                ds = ds.batch(8)
            if training:
                ds = ds.shuffle(100)
                ds = ds.batch(8)
            return ds
        """,
    "batches or a shuffle, never both": """
        import tensorflow as tf
        def read(path, training):
            ds = tf.data.TFRecordDataset(path)
            if not training and path:
                ds = ds.batch(8)
            if training:
                ds = ds.shuffle(100)
            return ds
        """,
    "a size that depends": """
        import tensorflow as tf
        def read(path, small):
            if small:
                size = 1
            else:
                size = 1000
            return tf.data.TFRecordDataset(path).shuffle(size)
        """,
    "a seed drawn by Python": """
        import random
        import tensorflow as tf
        def turn(x):
            return tf.image.random_flip_up_down(x, seed=random.randint(0, 9))
        ds = tf.data.Dataset.range(9).map(turn)
        """,
    "windows that are shuffled": """
        import tensorflow as tf
        ds = tf.data.Dataset.range(99).batch(5, drop_remainder=True).map(f).shuffle(100).batch(8)
        """,
    "batches of one": """
        import tensorflow as tf
        ds = tf.data.Dataset.range(99).batch(1).shuffle(100)
        """,
    "batches that are taken apart": """
        import penstock as ps
        ds = ps.Dataset.range(99).batch(5).map(f).unbatch().shuffle(100)
        """,
    "a cache of a fixed sample": """
        import tensorflow as tf
        ds = tf.data.Dataset.range(99).shuffle(99, seed=1, reshuffle_each_iteration=False).take(9).cache()
        """,
    "a cache between two shuffles": """
        import tensorflow as tf
        ds = tf.data.Dataset.range(99).shuffle(99).cache().shuffle(99)
        """,
    "a seed that is no draw": """
        import numpy as np
        import tensorflow as tf
        def f(x):
            np.random.seed(1)
            return x
        ds = tf.data.Dataset.range(9).map(f).cache()
        """,
    "a random filter behind a cache": """
        import penstock as ps
        ds = ps.Dataset.range(9).cache().filter(lambda x: ps.random.uniform([]) < 0.5)
        """,
    "a cache in a file before a filter": """
        import tensorflow as tf
        ds = tf.data.Dataset.range(9).cache("/tmp/x").filter(lambda x: x > 3)
        """,
    "prefetch twice": """
        import tensorflow as tf
        ds = tf.data.Dataset.range(9).prefetch(1).map(f).batch(2).prefetch(1)
        """,
    "prefetch and what costs nothing": """
        import tensorflow as tf
        ds = tf.data.Dataset.range(9).batch(2).prefetch(1).repeat(3).enumerate()
        """,
    "AUTOTUNE within a budget": """
        import tensorflow as tf
        options = tf.data.Options()
        options.autotune.ram_budget = 10**9
        for x in tf.data.Dataset.range(9).prefetch(tf.data.AUTOTUNE).with_options(options):
            print(x)
        """,
    "AUTOTUNE in a library": """
        import tensorflow as tf
        def read(path):
            return tf.data.TFRecordDataset(path).prefetch(tf.data.AUTOTUNE)
        """,
    "an endless dataset with a way out": """
        import tensorflow as tf
        for step, x in enumerate(tf.data.Dataset.range(9).repeat()):
            if step > 100:
                break
        """,
    "an endless generator": """
        import tensorflow as tf
        def forever():
            for x in tf.data.Dataset.range(9).repeat():
                yield x
        """,
    "an endless dataset cut short": """
        import penstock as ps
        rows = list(ps.Dataset.range(9).repeat().take(20))
        """,
    "repeat a number of times": """
        import tensorflow as tf
        def train(model, epochs):
            model.fit(tf.data.Dataset.range(9).repeat(epochs))
        """,
    "Python's randomness in numpy_function": """
        import numpy as np
        import tensorflow as tf
        def turn(x):
            return tf.numpy_function(lambda v: v + np.random.rand(), [x], tf.float64)
        ds = tf.data.Dataset.range(9).map(turn)
        """,
    "Python's randomness in a map of Penstock": """
        import random
        import penstock as ps
        ds = ps.Dataset.range(9).map(lambda x: x + random.random())
        """,
    "one batch to look at, an epoch": """
        import torch
        def train(loader, model, show, epochs):
            for epoch in range(epochs):
                for batch in loader:
                    model(batch)
                show(next(iter(loader)))
        """,
    "functions made in a loop and kept": """
        import tensorflow as tf
        def all_of(steps):
            made = []
            for step in steps:
                f = tf.function(step)
                made.append(f)
            return made
        """,
    "variables of layers": """
        import tensorflow as tf
        class Net(tf.Module):
            def __init__(self, sizes):
                self.weights = []
                for size in sizes:
                    w = tf.Variable(tf.zeros([size]))
                    self.weights.append(w)
        """,
    "a graph built in a loop, run after it": """
        import tensorflow.compat.v1 as tf
        tf.disable_eager_execution()
        def build(x, n):
            for _ in range(n):
                w = tf.Variable(tf.zeros([3, 3]))
                x = tf.matmul(x, w)
            with tf.Session() as sess:
                return sess.run(x)
        """,
    "a graph a round": """
        import tensorflow.compat.v1 as tf
        def run(xs):
            for x in xs:
                with tf.Graph().as_default(), tf.Session() as sess:
                    sess.run(tf.square(x))
        """,
    "a tf.function with a signature": """
        import tensorflow as tf
        @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
        def step(n):
            return n
        for i in range(1000):
            step(i)
        """,
    "a number that is a tensor": """
        import tensorflow as tf
        @tf.function
        def step(n):
            return n
        for i in tf.range(1000):
            step(i)
        for i in range(1000):
            step(tf.constant(i))
        """,
    "a loop inside of a traced function": """
        import tensorflow as tf
        @tf.function
        def inner(x, n):
            return x + n
        @tf.function
        def outer(x):
            for i in range(100):
                x = inner(x, i)
            return x
        """,
    "slices of one length": """
        import jax
        @jax.jit
        def f(x):
            return x
        def run(x, n):
            for i in range(n):
                f(x[i : i + 8])
        """,
    "a list inside of a traced function": """
        import tensorflow as tf
        @tf.function
        def f(x):
            parts = []
            for i in range(3):
                parts.append(x * i)
            return parts
        """,
    "losses let go of": """
        import torch
        def train(loader, criterion, model):
            kept, total = [], 0
            for x, y in loader:
                loss = criterion(model(x), y)
                loss.backward()
                kept.append(loss.item())
                kept.append(float(loss))
                kept.append(loss.detach().cpu())
                total += loss.item() * len(x)
                loss = loss.detach()
                kept.append(loss)
                total += loss
        """,
    "losses gathered for one backward": """
        import torch
        def step(parts, criterion, model):
            losses = []
            total = 0
            for x, y in parts:
                loss = criterion(model(x), y)
                losses.append(loss)
                total = total + loss
            torch.stack(losses).mean().backward()
            total.backward()
        """,
    "a list that lives for one step": """
        import torch
        def train(loader, heads):
            for x in loader:
                losses = []
                for head in heads:
                    loss = head(x)
                    loss.backward()
                losses.append(loss)
        """,
    "the last hundred losses": """
        from collections import deque
        import torch
        def train(loader, criterion, model):
            recent = deque(maxlen=100)
            for x, y in loader:
                loss = criterion(model(x), y)
                loss.backward()
                recent.append(loss)
        """,
    "a total without a graph": """
        import torch
        def train(loader, criterion, model):
            total = torch.zeros(())
            for x, y in loader:
                loss = criterion(model(x), y)
                loss.backward()
                with torch.no_grad():
                    total += loss
        """,
    "two ways back through one graph": """
        import torch
        def train(loader, a, b, model):
            for x in loader:
                out = model(x)
                first = a(out)
                first.backward(retain_graph=True)
                second = b(out)
                second.backward()
        """,
    "a graph from before the loop": """
        import torch
        def rows(model, x, n):
            out = model(x)
            for i in range(n):
                part = out[:, i].sum()
                part.backward(retain_graph=True)
        """,
    "evaluation where no graph is recorded": """
        import torch
        def predict(model, loader):
            model.eval()
            outs = []
            for x in loader:
                outs.append(model(x))
            return outs
        with torch.inference_mode():
            predict(net, data)
        """,
    "an attack that needs gradients": """
        import torch
        def attack(model, loader):
            model.eval()
            outs = []
            for x in loader:
                x.requires_grad_()
                outs.append(model(x))
            return outs
        """,
    "moved to the device after loading": """
        import torch
        from torch.utils.data import Dataset
        class Images(Dataset):
            def __getitem__(self, i):
                return self.rows[i].to(torch.float32)
        def train(loader, model):
            for x in loader:
                model(x.cuda())
        """,
    "lists and no workers": """
        from torch.utils.data import DataLoader, Dataset
        class Rows(Dataset):
            def __init__(self, path):
                self.rows = [line for line in open(path)]
            def __getitem__(self, i):
                return self.rows[i]
        loader = DataLoader(Rows("a"), num_workers=0)
        """,
    "a loader for each data set": """
        from torch.utils.data import DataLoader
        def all_of(sets):
            for one in sets:
                yield DataLoader(one, num_workers=4)
        """,
    "shuffled pairs are no state": """
        import torch
        from sklearn.utils import shuffle
        def train(x, y, model, criterion, epochs):
            for _ in range(epochs):
                x, y = shuffle(x, y)
                loss = criterion(model(x), y)
                loss.backward()
        """,
    "hooks on each layer": """
        import torch
        def watch(model, hook):
            for layer in model.children():
                layer.register_forward_hook(hook)
        """,
    "re.compile is no model": """
        import re
        import torch
        def f(lines):
            for line in lines:
                re.compile("x").match(line)
        """,
    "models with a cleared session": """
        import tensorflow as tf
        def clean():
            tf.keras.backend.clear_session()
        def search(sizes, x):
            for size in sizes:
                clean()
                model = tf.keras.Sequential([tf.keras.layers.Dense(size)])
                model.fit(x)
        """,
    "an ensemble": """
        import keras
        def train(n, x, y):
            models = []
            for _ in range(n):
                model = keras.Sequential([keras.layers.Dense(1)])
                model.fit(x, y)
                models.append(model)
            return models
        """,
    "layers that are frozen bit by bit": """
        import keras
        model = keras.applications.ResNet50()
        def tune(x, y):
            for layer in model.layers:
                layer.trainable = True
                model.compile(loss="mse")
                model.fit(x, y)
        """,
    "a model that grows": """
        import keras
        class Gan(keras.Model):
            pass
        gan = Gan()
        def train(sizes, x):
            for size in sizes:
                gan.grow(size)
                gan.compile(optimizer="adam")
                gan.fit(x)
        """,
    "an iterator that is read to its end": """
        import penstock as ps
        it = iter(ps.Dataset.range(4))
        while True:
            try:
                print(next(it))
            except StopIteration:
                break
        """,
    "a random batch to look at": """
        import tensorflow as tf
        ds = tf.data.Dataset.range(99).batch(9)
        first = next(iter(ds.shuffle(10).take(1)))
        """,
    "prefetch is last where it is read": """
        import tensorflow as tf
        ds = tf.data.Dataset.range(99).batch(9).prefetch(2)
        model.fit(ds)
        rows = ds.unbatch()
        """,
    "predict for batches, or by something else": """
        import keras
        import numpy as np
        model = keras.models.load_model("a")
        def score(batches, forest):
            for batch in batches:
                model.predict(batch)
                forest.predict(np.expand_dims(batch, 0))
        """,
    "jit of the same function": """
        import jax
        def f(x):
            return x
        def run(xs):
            for x in xs:
                jax.jit(f)(x)
        """,
    "jitted functions that are kept": """
        import jax
        def table(rates):
            return {rate: jax.jit(lambda x: x * rate) for rate in rates}
        """,
    "a static argument that stays": """
        from functools import partial
        import jax
        @partial(jax.jit, static_argnums=1)
        def f(x, n):
            return x
        def run(x, n, size):
            for _ in range(n):
                x = f(x, size)
        """,
    "losses brought over at the end": """
        import jax
        @jax.jit
        def step(x):
            return x
        def train(xs, epochs):
            losses = []
            for epoch in range(epochs):
                for x in xs:
                    loss = step(x)
                    losses.append(loss)
            return jax.device_get(losses)
        """,
    "a generator for every split, each in its place": """
        import tensorflow as tf
        def wrapped(splits, spec):
            made = {}
            for name, split in splits.items():
                ds = tf.data.Dataset.from_generator(lambda: split, output_signature=spec)
                made[name] = ds.batch(8)
            return made
        """,
    "a generator for every part, in a list": """
        import tensorflow as tf
        def wrapped(parts, spec):
            return [tf.data.Dataset.from_generator(part, output_signature=spec) for part in parts]
        """,
    "a function that stands for an operation of a converted model": """
        import tensorflow as tf
        def fused(x, size):
            @tf.function(experimental_implements=f"my:op:{size}")
            def op(y):
                return y * size
            return op(x)
        def build(x, sizes):
            return [fused(x, size) for size in sizes]
        """,
    "a cache that three filters share": """
        import tensorflow as tf
        cached = tf.data.TFRecordDataset("a").map(read).cache()
        train = cached.filter(lambda x, fold: fold < 4)
        test = cached.filter(lambda x, fold: fold >= 4)
        """,
    "batches of one behind a prefetch": """
        import tensorflow as tf
        ds = tf.data.TFRecordDataset("a").map(read).prefetch(4).batch(1)
        """,
    "a prefetched dataset that is read twice and zipped": """
        import tensorflow as tf
        def pairs(ds):
            ds = ds.prefetch(tf.data.AUTOTUNE)
            left = ds.shuffle(100, reshuffle_each_iteration=True)
            right = ds.shuffle(100, reshuffle_each_iteration=True)
            return tf.data.Dataset.zip((left, right))
        """,
    "a shuffled validation set in a cache": """
        import tensorflow as tf
        val_ds = tf.data.TextLineDataset("valid.txt").shuffle(500).batch(8).cache()
        """,
    "a dataset that a function of another file may change in every round": """
        import tensorflow as tf
        from mine import noisy
        def make(rows):
            other = noisy(rows)
            return tf.data.Dataset.from_tensor_slices(other).batch(8)
        def train(rows, model):
            for epoch in range(9):
                model.fit(make(rows))
        """,
    "a generator for every task, in a graph of its own": """
        import tensorflow as tf
        def graphs(tasks, spec, build):
            made = {}
            for name, task in tasks.items():
                ds = tf.data.Dataset.from_generator(task, output_signature=spec)
                made[name] = build(data=ds)
            return made
        """,
    "a held-out set with noise in a cache": """
        import tensorflow as tf
        def noisy(x):
            return x + tf.random.uniform([])
        ds_test = tf.data.TFRecordDataset("test").map(noisy).cache()
        """,
    "a second shuffle, of batches, where one asks for it": """
        import tensorflow as tf
        def read(path, size, batches):
            ds = tf.data.TFRecordDataset(path)
            if size:
                ds = ds.shuffle(size)
            ds = ds.batch(8)
            if batches:
                ds = ds.shuffle(batches)
            return ds
        """,
    "a parallel map behind prefetch, which runs ahead by itself": """
        import tensorflow as tf
        ds = tf.data.TFRecordDataset("a").prefetch(4).map(read, num_parallel_calls=8)
        """,
    "a prefetch at the end of many ways": """
        import tensorflow as tf
        def read(path, a, b, c, d, e):
            ds = tf.data.TFRecordDataset(path).prefetch(8)
            if a:
                ds = ds.map(one)
            if b:
                ds = ds.map(two)
            if c:
                ds = ds.map(three)
            if d:
                ds = ds.map(four)
            if e:
                ds = ds.batch(8)
            return ds.prefetch(2)
        """,
    "a step that is made anew for every epoch": """
        import tensorflow as tf
        def train(model, ds, epochs, weights):
            for epoch in range(epochs):
                weight = weights(epoch)
                @tf.function
                def step(x):
                    return model(x) * weight
                for x in ds:
                    step(x)
        """,
    "an operation for each variable of the graph": """
        import tensorflow.compat.v1 as tf
        def flat(scope):
            sess = tf.Session()
            return [sess.run(tf.reshape(one, [-1])) for one in tf.trainable_variables(scope)]
        """,
    "losses of the parts of one step, made into one": """
        import tensorflow as tf
        def step(models, parts):
            losses = []
            for model, part in zip(models, parts):
                with tf.GradientTape() as tape:
                    loss = model(part)
                grads = tape.gradient(loss, model.trainable_variables)
                losses.append(loss)
            return tf.reduce_mean(losses)
        """,
    "outputs that were made under no_grad and kept after it": """
        import torch
        def predict(net, loader):
            net.eval()
            kept = []
            for x in loader:
                with torch.no_grad():
                    out = net(x)
                kept.append(out)
            return kept
        """,
    "a list of outputs under no_grad": """
        import torch
        def predict(net, loader):
            net.eval()
            with torch.no_grad():
                return [net(x) for x in loader]
        """,
    "a GPU in a Dataset that no worker reads": """
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Rows(Dataset):
            def __getitem__(self, i):
                return self.rows[i].to("cuda")
        loader = DataLoader(Rows(), batch_size=8)
        """,
    "a hook that its method takes away": """
        import torch
        class Probe:
            def look(self, x):
                self.handles.append(self.net.register_forward_hook(self.keep))
                self.net.fc.register_forward_hook(self.keep)
                out = self.net(x)
                self.net.fc._forward_hooks.clear()
                return out
            def run(self, loader):
                for x in loader:
                    self.look(x)
        """,
    "a random number that is drawn outside of what is traced": """
        import random
        import tensorflow as tf
        @tf.function
        def step(x, by):
            return x * by
        def train(x):
            for _ in range(9):
                step(x, tf.constant(random.random()))
        """,
    "random numbers that are meant to be a constant of the function": """
        import numpy as np
        import tensorflow as tf
        @tf.function
        def mixed(x):
            return x @ tf.constant(np.random.randn(9, 9), dtype=tf.float32)
        """,
    "a cache that take and skip share": """
        import tensorflow as tf
        ds = tf.data.TFRecordDataset("a").cache()
        test = ds.take(100)
        train = ds.skip(100)
        """,
    "losses in the place of a part of the loss": """
        import torch
        def train(loader, model, criteria, optimizer):
            last = {}
            for x, y in loader:
                for name, criterion in criteria.items():
                    loss = criterion(model(x), y)
                    loss.backward()
                    last[name] = loss
                optimizer.step()
        """,
    "losses put into an array of NumPy": """
        import numpy as np
        import torch
        def train(loader, model, criterion, optimizer):
            seen = np.zeros(len(loader))
            for step, (x, y) in enumerate(loader):
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                seen[step] = loss
        """,
    "a meter that lists what it gets, up to a length": """
        from collections import deque
        import torch
        class Meter:
            def __init__(self):
                self.values = deque(maxlen=20)
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
    "a loader for another part of the rows in every round": """
        from torch.utils.data import DataLoader
        def loader(rows):
            return DataLoader(rows, 32, num_workers=4)
        def train(parts, model):
            for part in parts:
                for x in loader(part):
                    model(x)
        """,
    "an array that each round joins anew": """
        import numpy as np
        import tensorflow as tf
        @tf.function
        def step(x):
            return tf.reduce_sum(x)
        def train(real, made, picks):
            for pick in picks:
                rows = real[pick]
                rows = np.concatenate([rows, made[pick]])
                step(rows)
        """,
    "no framework at all": """
        def f(ds):
            for i in range(9):
                ds.batch(3).shuffle(1)
        """,
    "everything in strings and comments": '''
        import torch
        text = """
        for x in loader:
            loss.backward()
            losses.append(loss)
        """
        # losses.append(loss)
        ''',
}


@pytest.mark.parametrize("name", CASES)
def test_given_code_that_only_looks_wrong_then_there_is_nothing_to_say(name: str) -> None:
    assert [str(found) for found in lint_text(dedent(CASES[name]))] == []
