"""Remedies for JAX."""

from __future__ import annotations

from penstock.doctor.remedies import Remedy

REMEDIES = [
    Remedy(
        "jax-arrays",
        "JAX arrays are kept",
        "Each array that is kept keeps its memory, on the device too.",
        "Keep a number: `float(loss)`.",
        "losses.append(float(loss))  # was: losses.append(loss)",
    ),
    Remedy(
        "jax-compile",
        "JAX compiles at every step",
        "Each new shape, static argument or function that is given to `jax.jit` is compiled and kept.",
        "Make the jitted function once, pad to few shapes, and pass numbers as arrays, not as static "
        "arguments.",
        "step = jax.jit(step)  # once, before the loop\nfor x in data:\n    step(pad(x))",
    ),
]
