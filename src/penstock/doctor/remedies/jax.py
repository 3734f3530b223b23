"""Remedies for JAX."""

from __future__ import annotations

from penstock.doctor.remedies import DICTS, Remedy

REMEDIES = [
    Remedy(
        kind="jax-arrays",
        title="JAX arrays are kept",
        why="Each array that is kept keeps its memory, on the device too.",
        fix="Keep a number: `float(loss)`.",
        sample="losses.append(float(loss))  # was: losses.append(loss)",
        name="losses",
        samples=dict.fromkeys(DICTS, "losses[key] = float(loss)  # was: losses[key] = loss"),
        bad="losses.append(loss)  # a jax.Array",
        seen="`jax.live_arrays()`, and arrays that a container of yours keeps.",
        other="`float(loss)` keeps a number.",
    ),
    Remedy(
        kind="jax-compile",
        title="JAX compiles at every step",
        why="Each new shape, static argument or function that is given to `jax.jit` is compiled and kept.",
        fix=(
            "Make the jitted function once, pad to few shapes, and pass numbers as arrays, not as static "
            "arguments."
        ),
        sample="step = jax.jit(step)  # once, before the loop\nfor x in data:\n    step(pad(x))",
        bad="for i in range(steps):\n    f = jax.jit(lambda x: x * i)\n    f(x)",
        seen="The compiled functions that are alive in JAX's client.",
        other="A few shapes, each compiled once, are warm-up.",
    ),
]
