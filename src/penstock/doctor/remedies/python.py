"""Remedies for what Python code keeps."""

from __future__ import annotations

from penstock.doctor.remedies import Remedy

REMEDIES = [
    Remedy(
        "growing-container",
        "A container grows at every step",
        "Everything in it stays in memory for as long as the container is reachable.",
        "Keep numbers instead of arrays, keep only the last few, or empty it at the end of an epoch.",
        "from collections import deque\n\nhistory = deque(maxlen=100)  # was: history = "
        "[]\nhistory.append(x)",
    ),
    Remedy(
        "growing-buffer",
        "A buffer is made longer at every step",
        "Text or an array that is added to at every step is copied each time and never gets shorter.",
        "Write to a file, or fill an array of fixed size and start again when it is full.",
        "out = np.empty((1000, 8))\nout[step % 1000] = row  # was: out = np.concatenate([out, row])",
    ),
    Remedy(
        "unbounded-cache",
        "A cache without a bound",
        "`functools.cache` and `lru_cache(maxsize=None)` keep every argument and every result for ever.",
        "Give it a size, or do not cache what is asked for once.",
        "@lru_cache(maxsize=1024)  # was: @cache\ndef load(name): ...",
    ),
    Remedy(
        "python-objects",
        "Python objects pile up",
        "More objects are made at every step than go.",
        "Look at the chain of references: its first name is what has to let go.",
        "node.next = None  # cut the chain, or keep only the last few",
    ),
    Remedy(
        "kept-exceptions",
        "Exceptions are kept, with all that their frames hold",
        "An exception has a traceback, and that has the local variables of every function it came through.",
        "Keep the message, not the exception.",
        "errors.append(str(error))  # was: errors.append(error)",
    ),
    Remedy(
        "cycles",
        "The garbage collector is off",
        "Objects that refer to each other in a circle are freed by the collector alone.",
        "Switch it on again, or collect at the end of each epoch.",
        "gc.enable()  # or gc.collect() at the end of each epoch",
    ),
]
