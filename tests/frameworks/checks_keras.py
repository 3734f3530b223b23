"""What `as_keras` promises on every backend; run by `test_keras.py`, in a process for each of them."""

from __future__ import annotations

import doctest
import gc
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

import penstock as ps
from frameworks.running import guide_code, memory_and_threads, run_checks, run_guide
from penstock.engine.run import Run

BACKEND = keras.backend.backend()
RNG = np.random.default_rng(0)
X = RNG.random((40, 3), dtype=np.float32)
Y = X.sum(axis=1, keepdims=True)


def raises(kind: type[BaseException], call: Any, *words: str) -> BaseException:
    try:
        call()
    except kind as error:
        for word in words:
            assert word in str(error), (word, str(error))
        return error
    raise AssertionError(f"{kind.__name__} was expected")


class Watched:
    """Elements that are counted, from a source that tells whether a pass over it is open."""

    def __init__(self, fails_at: int = -1) -> None:
        self.passes: list[list[int]] = []
        self.open = 0
        self.fails_at = fails_at

    def __call__(self) -> Iterator[Any]:
        seen: list[int] = []
        self.passes.append(seen)
        self.open += 1
        try:
            for number in range(len(X)):
                if number == self.fails_at:
                    raise ValueError(f"no element {number} today")
                seen.append(number)
                yield X[number], Y[number]
        finally:
            self.open -= 1

    def check_passes(self, epochs: int) -> None:
        """A whole pass an epoch, and one more at most, from which Keras looked at a batch; none is open."""
        assert epochs <= len(self.passes) <= epochs + (BACKEND != "tensorflow"), len(self.passes)
        assert sum(seen == list(range(len(X))) for seen in self.passes) >= epochs
        assert self.open == 0

    def batches(self) -> ps.Dataset:
        """Five batches; each pass over them is one over the source."""
        signature = (ps.TensorSpec((3,), np.float32), ps.TensorSpec((1,), np.float32))
        elements = ps.Dataset.from_generator(self, output_signature=signature)
        return elements.apply(ps.assert_cardinality(len(X))).batch(8)


def linear() -> keras.Model:
    model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile(keras.optimizers.SGD(0.0), "mse", metrics=["mae"])
    return model


def small(rate: float = 0.1) -> keras.Model:
    model = keras.Sequential([keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(rate), "mse")
    return model


def open_runs() -> int:
    gc.collect()
    return sum(isinstance(thing, Run) and not thing.closed for thing in gc.get_objects())


def given_fit_with_validation_then_every_epoch_is_one_whole_pass_that_is_closed() -> None:
    train, val = Watched(), Watched()
    model = small()
    history = model.fit(
        train.batches().prefetch(1).as_keras(),
        epochs=4,
        validation_data=val.batches().as_keras(),
        verbose=0,
    ).history
    assert len(history["loss"]) == len(history["val_loss"]) == 4
    assert history["loss"][-1] < history["loss"][0]
    train.check_passes(4)
    val.check_passes(4)
    assert open_runs() == 0


def given_evaluate_and_predict_then_they_agree_with_numpy_in_value_and_order() -> None:
    ds = ps.Dataset.from_tensor_slices((X, Y * 2)).batch(7)
    model = linear()
    np.testing.assert_allclose(model.predict(ds.as_keras(), verbose=0), Y, rtol=1e-5)
    loss, mae = model.evaluate(ds.as_keras(), verbose=0)
    np.testing.assert_allclose([loss, mae], [np.mean(Y**2), np.mean(Y)], rtol=1e-5)
    alone = ps.Dataset.from_tensor_slices(X).batch(7)
    np.testing.assert_allclose(model.predict(alone.as_keras(), verbose=0), Y, rtol=1e-5)
    assert open_runs() == 0


def given_sample_weights_then_keras_uses_them() -> None:
    weights = RNG.random(len(X), dtype=np.float32)
    ds = ps.Dataset.from_tensor_slices((X, np.zeros_like(Y), weights)).batch(40)
    model = linear()
    model.compile(keras.optimizers.SGD(0.0), "mse")
    expected = np.mean(weights * Y[:, 0] ** 2)
    found = model.evaluate(ds.as_keras(), verbose=0, return_dict=True)
    np.testing.assert_allclose(found["loss"], expected, rtol=1e-4)
    loss = model.fit(ds.as_keras(), verbose=0).history["loss"][0]
    np.testing.assert_allclose(loss, expected, rtol=1e-4)


def given_dicts_of_inputs_and_targets_then_each_reaches_its_place() -> None:
    b, a = keras.Input((3,), name="b"), keras.Input((3,), name="a")
    total = keras.layers.Dense(1, kernel_initializer="ones", name="total")(a)
    twice = keras.layers.Dense(1, kernel_initializer=keras.initializers.Constant(2.0), name="twice")(b)
    model = keras.Model({"b": b, "a": a}, {"total": total, "twice": twice})
    model.compile(keras.optimizers.SGD(0.0), {"total": "mse", "twice": "mse"})
    inputs, targets = {"b": X, "a": X + 1}, {"twice": 2 * Y, "total": Y + 3}
    ds = ps.Dataset.from_tensor_slices((inputs, targets)).batch(8)
    assert model.evaluate(ds.as_keras(), verbose=0, return_dict=True)["loss"] < 1e-9
    assert model.fit(ds.as_keras(), epochs=2, verbose=0).history["loss"][-1] < 1e-9
    found = model.predict(ds.as_keras(), verbose=0)
    np.testing.assert_allclose(found["twice"], 2 * Y, rtol=1e-5)


def given_a_length_that_is_not_known_then_epochs_end_where_the_data_does() -> None:
    train = Watched()
    unknown = train.batches().filter(lambda x, y: True)
    assert unknown.cardinality() == ps.UNKNOWN
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras says each time that the data ran out
        history = small().fit(unknown.as_keras(), epochs=3, verbose=0).history
    assert len(history["loss"]) == 3
    train.check_passes(3)
    assert open_runs() == 0


def given_steps_per_epoch_then_keras_goes_on_in_the_same_run() -> None:
    endless = Watched().batches().repeat()
    history = small().fit(endless.as_keras(), epochs=5, steps_per_epoch=3, verbose=0).history
    assert len(history["loss"]) == 5
    assert endless._epochs == 1  # one run, though it goes over the source three times
    assert open_runs() == 0


def given_an_endless_dataset_and_no_steps_then_fit_says_so_instead_of_never_ending() -> None:
    endless, train = Watched().batches().repeat(), Watched().batches()
    words = ("checks_keras.py", "endless", "steps_per_epoch")
    raises(ps.errors.ArgumentError, lambda: small().fit(endless.as_keras(), verbose=0), *words)
    raises(ps.errors.ArgumentError, lambda: small().evaluate(endless.as_keras(), verbose=0), *words)
    held_out = {"validation_data": endless.as_keras(), "verbose": 0}
    raises(ps.errors.ArgumentError, lambda: small().fit(train.as_keras(), **held_out), *words)
    history = small().fit(train.as_keras(), validation_steps=2, **held_out).history
    assert len(history["val_loss"]) == 1
    assert open_runs() == 0


def given_an_asserted_length_that_is_too_small_then_the_first_epoch_raises() -> None:
    longer = Watched().batches()
    batches = sum(1 for _ in longer)
    asserted = longer.apply(ps.assert_cardinality(batches - 1))
    # TensorFlow tells what was raised in words alone.
    kind = Exception if BACKEND == "tensorflow" else ps.errors.CardinalityError
    raises(kind, lambda: small().fit(asserted.as_keras(), epochs=3, verbose=0), "got more")
    right = longer.apply(ps.assert_cardinality(batches))
    assert len(small().fit(right.as_keras(), epochs=3, verbose=0).history["loss"]) == 3
    assert open_runs() == 0


class Stops(keras.callbacks.Callback):  # type: ignore[misc]
    """Ends the training at a batch, in one of two ways."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.error = error

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if batch == 2:
            if self.error is not None:
                raise self.error
            self.model.stop_training = True


def given_a_training_that_is_stopped_early_then_its_run_is_closed() -> None:
    train = Watched()
    feed = train.batches().prefetch(1).as_keras()
    small().fit(feed, epochs=9, verbose=0, callbacks=[Stops()])
    gc.collect()
    assert train.open == 0
    assert open_runs() == 0


def given_a_training_that_raises_then_its_run_is_closed() -> None:
    train = Watched()
    feed = train.batches().prefetch(1).as_keras()
    raises(KeyError, lambda: small().fit(feed, verbose=0, callbacks=[Stops(KeyError("mine"))]), "mine")
    gc.collect()
    assert train.open == 0
    assert open_runs() == 0


def given_an_element_that_fails_then_fit_says_which_and_why() -> None:
    train = Watched(fails_at=21)
    raises(
        Exception,
        lambda: small().fit(train.batches().as_keras(), verbose=0),
        "no element 21 today",
        "from_generator at",
        "checks_keras.py:",
    )
    gc.collect()
    assert train.open == 0
    assert open_runs() == 0


def given_shuffled_data_then_epochs_are_those_of_penstock_though_keras_looks_at_a_batch_first() -> None:
    orders: list[list[int]] = []

    numbers = np.arange(12, dtype=np.float32)[:, None]
    seen: list[int] = []

    def note(x: Any) -> Any:
        seen.append(int(x[0]))
        return x, x

    ds = ps.Dataset.from_tensor_slices(numbers).shuffle(12, seed=5).map(note).batch(4)
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")

    class Epochs(keras.callbacks.Callback):  # type: ignore[misc]
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            seen.clear()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            orders.append(list(seen))

    model.fit(ds.as_keras(), epochs=3, verbose=0, callbacks=[Epochs()])
    plain = ps.Dataset.from_tensor_slices(numbers).shuffle(12, seed=5)
    assert orders == [[int(x[0]) for x in plain] for _ in range(3)]


def given_weights_beside_the_dataset_then_they_are_refused_and_not_left_out() -> None:
    ds = ps.Dataset.from_tensor_slices((X, Y)).batch(8)
    for beside in ({"class_weight": {0: 1.0}}, {"y": Y}, {"sample_weight": Y[:, 0]}):
        (name,) = beside
        raises(ps.errors.ArgumentError, lambda: small().fit(ds.as_keras(), verbose=0, **beside), f"{name}=")


def given_single_elements_then_they_are_refused_with_the_users_line() -> None:
    ds = ps.Dataset.from_tensor_slices((X, Y[:, 0]))
    raises(ps.errors.ArgumentError, ds.as_keras, "[1]", ".batch(n)", "checks_keras.py:")
    four = ps.Dataset.from_tensor_slices((X, X, X, X)).batch(2)
    raises(ps.errors.ArgumentError, four.as_keras, "sample_weight", "tuple of 4")


def given_rows_of_unequal_length_then_tensorflow_takes_them_and_others_say_what_to_do() -> None:
    ragged = ps.Dataset.from_tensor_slices([1, 2, 3]).map(lambda n: np.ones(n, np.float32)).ragged_batch(3)
    feed = ragged.as_keras()
    if BACKEND == "tensorflow":
        (came,) = feed.get_tf_dataset()
        assert came.to_list() == [[1], [1, 1], [1, 1, 1]]
    else:
        raises(ps.errors.ArgumentTypeError, lambda: linear().predict(feed, verbose=0), "padded_batch")


def given_fifty_epochs_then_nothing_grows() -> None:
    train, val = Watched(), Watched()
    model = small()
    feed, val_feed = train.batches().prefetch(2).as_keras(), val.batches().as_keras()
    model.fit(feed, epochs=5, validation_data=val_feed, verbose=0)
    rss, threads = memory_and_threads()
    model.fit(feed, epochs=50, validation_data=val_feed, verbose=0)
    after, threads_after = memory_and_threads()
    train.check_passes(55)
    val.check_passes(55)
    assert open_runs() == 0
    assert threads_after <= threads + 2
    assert after - rss < 24 << 20, (after - rss) >> 20


def given_twenty_models_then_only_what_keras_itself_keeps_grows() -> None:
    ds = ps.Dataset.from_tensor_slices((X, Y)).shuffle(40, seed=1).batch(8).prefetch(2)

    def one() -> None:
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(ds.as_keras(), epochs=2, verbose=0)
        forget_what_keras_keeps()

    for _ in range(2):
        one()
    rss, threads = memory_and_threads()
    for _ in range(20):
        one()
    after, threads_after = memory_and_threads()
    assert open_runs() == 0
    assert threads_after <= threads + 2
    assert after - rss < 32 << 20, (after - rss) >> 20


def forget_what_keras_keeps() -> None:
    """As the guide says."""
    (block,) = [text for text in guide_code("keras.md") if "def forget" in text]
    scope: dict[str, Any] = {}
    exec(block.partition("\n\n\nfor ")[0], scope)
    scope["forget"]()


def given_another_backend_than_tensorflow_then_tensorflow_is_not_loaded() -> None:
    assert ("tensorflow" in sys.modules) == (BACKEND == "tensorflow")


def given_the_example_of_the_docstring_then_it_runs() -> None:
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    val = ps.Dataset.from_tensor_slices((np.ones((8, 4)), np.ones((8, 1)))).batch(4)
    (test,) = doctest.DocTestFinder().find(
        ps.Dataset.as_keras, "as_keras", globs={"model": model, "val": val}
    )
    for example in test.examples:
        example.options.pop(doctest.SKIP, None)
        if "model.fit" in example.source:
            example.source = f"_ = {example.source.replace('epochs=10', 'epochs=2, verbose=0')}"
    runner = doctest.DocTestRunner()
    runner.run(test)
    assert runner.failures == 0


def given_the_code_in_the_guide_then_it_runs() -> None:
    run_guide("keras.md")


if __name__ == "__main__":
    run_checks(globals(), "checks_keras.py")
