"""TensorFlow functions: traced again for every new shape or Python number."""

from __future__ import annotations

import gc
import sys
from typing import Any

from penstock.doctor.places import Place, Places
from penstock.doctor.signals import Look, Signal, Suspect

CONTEXT = "tensorflow.python.eager.context"
FUNCTION = "tensorflow.python.eager.polymorphic_function.polymorphic_function"
MADE = {"tf-retracing": (FUNCTION, "Function")}


def functions(_: Look) -> float | None:
    """How many functions the runtime knows."""
    context = sys.modules[CONTEXT].context_safe()
    return (
        None
        if context is None or context._context_handle is None
        else float(len(context.list_function_names()))
    )


def _python_function(one: Any) -> Any:
    return getattr(one, "python_function", None) or getattr(one, "_python_function", None)


def most_traced(places: Places) -> Suspect:
    """The function of the user with the most traces."""
    kind = sys.modules[FUNCTION].Function
    gc.unfreeze()
    try:
        found = [one for one in gc.get_objects() if isinstance(one, kind)]
    finally:
        gc.freeze()
    named = []
    for one in found:
        code = getattr(_python_function(one), "__code__", None)
        if code is not None:
            named.append((one.experimental_get_tracing_count(), places.is_user(code.co_filename), code))
    del found
    named.sort(key=lambda entry: (entry[1], entry[0]))
    if not named or named[-1][0] < 3:
        return Suspect(None, ("the functions of TensorFlow's runtime",))
    traces, user, code = named[-1]
    place = Place(code.co_filename, code.co_firstlineno) if user else None
    return Suspect(
        place,
        ("the functions of TensorFlow's runtime", f"`{code.co_name}` with {traces} traces"),
        f"the `tf.function` `{code.co_name}` was traced {traces} times by then and keeps each trace",
    )


def kept(thing: object, where: str) -> str | None:
    """Functions that user code keeps."""
    del where
    module = sys.modules.get(FUNCTION)
    return "tf-retracing" if module is not None and isinstance(thing, module.Function) else None


SIGNALS = [
    Signal(
        "tf.functions",
        "tf-retracing",
        "functions",
        8,
        functions,
        needs=FUNCTION,
        quick=True,
        suspect=most_traced,
    )
]
