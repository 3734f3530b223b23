"""`model.compile` in a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.loops import repeated
from penstock.doctor.lint.models import model_definitions
from penstock.doctor.lint.rule import Hit, Rule

TAKES = frozenset(
    "optimizer loss loss_weights metrics weighted_metrics run_eagerly steps_per_execution jit_compile".split()  # noqa: SIM905
)
PLAIN = frozenset(
    [
        "compile",
        "evaluate",
        "fit",
        "load_weights",
        "predict",
        "save",
        "save_weights",
        "summary",
        "test_on_batch",
        "train_on_batch",
    ]
)


def check(facts: Facts) -> Iterator[Hit]:
    """`compile` in every round of a loop, of a Keras model that is older than the loop."""
    for call in facts.calls:
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "compile":
            continue
        loop = repeated(facts, call)
        found = model_definitions(facts, call.func.value)
        if loop is None or not found or any(facts.within(one.node, loop) for one in found):
            continue
        if {one.arg for one in call.keywords} <= TAKES and not _changed(call.func.value, loop):
            yield call, "compile() in a loop: the training functions are thrown away and traced again"


def _changed(model: ast.expr, loop: ast.AST) -> bool:
    """Whether the loop may change the model, so that it has to be compiled anew."""
    name = ast.unparse(model)
    for node in ast.walk(loop):
        if (
            isinstance(node, ast.Attribute)
            and node.attr == "trainable"
            and not isinstance(node.ctx, ast.Load)
        ):
            return True
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and ast.unparse(node.func.value) == name
            and node.func.attr not in PLAIN
        ):
            return True
    return False


RULE = Rule(
    code="PSK303",
    name="model-compile-in-loop",
    level="warning",
    title="compile() in a loop",
    why="`compile` forgets the traced training and test functions and the optimizer's state. The next "
    "`fit` traces them anew, and the old graphs stay until Python collects them.",
    fix="Compile once. To change the learning rate set model.optimizer.learning_rate.",
    bad="""\
import keras

model = keras.models.load_model("model.keras")


def train(rates, x, y):
    for rate in rates:
        model.compile(optimizer=keras.optimizers.Adam(rate), loss="mse")
        model.fit(x, y)
""",
    good="""\
import keras

model = keras.models.load_model("model.keras")


def train(rates, x, y):
    model.compile(optimizer="adam", loss="mse")
    for rate in rates:
        model.optimizer.learning_rate = rate
        model.fit(x, y)
""",
    check=check,
    libraries=("tensorflow", "keras", "tf_keras"),
    hints=(r"\.compile\(",),
    sources=("https://keras.io/api/models/model_training_apis/#compile-method",),
)
