"""Remedies for what Python code keeps."""

from __future__ import annotations

from penstock.doctor.remedies import DICTS, Remedy

REMEDIES = [
    Remedy(
        kind="growing-container",
        title="A container grows at every step",
        why="Everything in it stays in memory for as long as the container is reachable.",
        fix="Keep numbers instead of arrays, keep only the last few, or empty it at the end of an epoch.",
        sample=(
            "from collections import deque\n"
            "\n"
            "history = deque(maxlen=100)  # was: history = []\n"
            "history.append(x)"
        ),
        name="history",
        samples={
            **dict.fromkeys(
                DICTS, "if len(history) >= 100:\n    history.pop(next(iter(history)))  # the oldest"
            ),
            "set": "if len(history) >= 100_000:\n    history.clear()",
            "tuple": "history = (*history[-99:], x)  # was: history = (*history, x)",
        },
        bad="history = []\nfor step in range(steps):\n    history.append(model(x))  # kept for ever",
        seen=(
            "The length of every list, dict, set and deque that a name of yours leads to, at every sample. "
            "The line is the one at which the length changes."
        ),
        other=(
            "A list of losses as numbers grows too, by some 30 bytes a step; the report mentions it and the "
            "verdict stays clean. A deque with `maxlen`, a cache that fills and stops, and a list that is "
            "emptied each epoch are no findings."
        ),
    ),
    Remedy(
        kind="growing-buffer",
        title="A buffer is made longer at every step",
        why="Text or an array that is added to at every step is copied each time and never gets shorter.",
        fix="Write to a file, or fill an array of fixed size and start again when it is full.",
        sample=("out = np.empty((1000, 8))\nout[step % 1000] = row  # was: out = np.concatenate([out, row])"),
        name="out",
        bad=("rows = np.zeros((0, 64))\nfor step in range(steps):\n    rows = np.concatenate([rows, row])"),
        seen="The bytes of every text, array and `BytesIO` that a name of yours leads to.",
        other=(
            "An array that is made anew each time, longer because the data are, keeps nothing of what it "
            "had: that is no leak."
        ),
    ),
    Remedy(
        kind="unbounded-cache",
        title="A cache without a bound",
        why="`functools.cache` and `lru_cache(maxsize=None)` keep every argument and every result for ever.",
        fix="Give it a size, or do not cache what is asked for once.",
        sample="@lru_cache(maxsize=1024)  # was: @cache\ndef load(name): ...",
        bad="@lru_cache(maxsize=None)\ndef load(name): ...",
        seen=(
            "`cache_info().currsize` of every `functools` cache that a name of yours leads to. The line is "
            "that of the decorator."
        ),
        other="A cache with a `maxsize` is never a finding, full or not.",
    ),
    Remedy(
        kind="python-objects",
        title="Python objects pile up",
        why="More objects are made at every step than go.",
        fix="Look at the chain of references: its first name is what has to let go.",
        sample="node.next = None  # cut the chain, or keep only the last few",
        bad=(
            "state = None\n"
            "for step in range(steps):\n"
            "    state = Node(step, state)  # each keeps the one before"
        ),
        seen=(
            "The number of objects of each type, after a collection. The chain is found by going from an "
            "object to those that refer to it, up to a name."
        ),
        other=(
            "No chain means that no Python object refers to them: native code has taken a reference and not "
            "given it back."
        ),
    ),
    Remedy(
        kind="kept-exceptions",
        title="Exceptions are kept, with all that their frames hold",
        why=(
            "An exception has a traceback, and that has the local variables of every function it came "
            "through."
        ),
        fix="Keep the message, not the exception.",
        sample="errors.append(str(error))  # was: errors.append(error)",
        name="errors",
        bad="except ValueError as error:\n    errors.append(error)",
        seen="Containers whose members are exceptions with a traceback, or tracebacks.",
        other="`str(error)`, or `error.with_traceback(None)`, keeps no frame.",
    ),
    Remedy(
        kind="cycles",
        title="The garbage collector is off",
        why="Objects that refer to each other in a circle are freed by the collector alone.",
        fix="Switch it on again, or collect at the end of each epoch.",
        sample="gc.enable()  # or gc.collect() at the end of each epoch",
        bad=(
            "gc.disable()\nfor step in range(steps):\n    a, b = Part(), Part()\n    a.other, b.other = b, a"
        ),
        seen="Objects that pile up while `gc.isenabled()` is False, and that no name leads to.",
        other=(
            "With the collector on, circles are freed from time to time: memory goes up and down, and that "
            "is no leak."
        ),
    ),
]
