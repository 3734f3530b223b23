"""What the doctor costs a step: `python -m benchmarks.doctor_overhead [numpy torch keras]`.

Each loop runs in a process of its own, with and without a watch, in turn. Counted is the CPU time of the
process a step: it hangs less on what else the machine does. The first seconds, in which the doctor looks more
often, are given apart. What comes then is cut into slices of a second, of which the quicker half counts: a
machine is slow at times, and each slice has its samples. Of the processes the best with a watch is set
against the best without: from one process to the next the same loop differs by a fifth. The last column is
what the doctor itself spends, counted in the watched process: it hangs on nothing else.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from statistics import mean, median
from time import process_time, thread_time
from types import FrameType

from penstock.doctor.watching import Watching

FIRST = 6.0
"""CPU seconds that are counted apart."""
SLICE, SLICES = 1.0, 10
PAIRS = 4


def numpy_loop() -> Callable[[], None]:
    """A step of logistic regression."""
    import numpy as np

    rng = np.random.default_rng(0)
    data, weights = rng.random((4096, 64)), np.zeros(64)

    def step() -> None:
        nonlocal weights
        rows = data[rng.integers(0, 4096, 256)]
        guess = 1 / (1 + np.exp(-rows @ weights))
        weights = weights - 0.1 * rows.T @ (guess - 0.5) / 256

    return step


def torch_loop() -> Callable[[], None]:
    """A step of a small network."""
    import torch

    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> None:
        loss = model(torch.randn(64, 128)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def keras_loop() -> Callable[[], None]:
    """A training step of a small model."""
    import keras
    import numpy as np

    model = keras.Sequential([keras.layers.Dense(256, activation="relu"), keras.layers.Dense(10)])
    model.compile("adam", "mse")
    x, y = np.random.rand(64, 128).astype("float32"), np.random.rand(64, 10).astype("float32")

    def step() -> None:
        model.train_on_batch(x, y)

    return step


LOOPS = {"numpy": numpy_loop, "torch": torch_loop, "keras": keras_loop}


def timed(name: str, watched: bool) -> tuple[float, float, float]:
    """CPU microseconds a step, in the first seconds and then; and the doctor's own share of the latter."""
    import penstock as ps

    step, own = LOOPS[name](), Own()
    step()
    with ps.doctor.watch() if watched else nullcontext():
        first = spent(step, FIRST)
        before = own.seconds
        then = sorted(spent(step, SLICE) for _ in range(SLICES))
    return first, mean(then[: SLICES // 2]), (own.seconds - before) / (SLICE * SLICES)


class Own:
    """Counts the CPU seconds that go into samples, and into following lines."""

    def __init__(self) -> None:
        self._samples = self._lines = 0.0
        sample = Watching.sample

        def counted(watching: Watching, frame: FrameType | None) -> None:
            began = thread_time()
            sample(watching, frame)
            self._samples += thread_time() - began
            self._lines = watching.pace.on_lines

        Watching.sample = counted  # type: ignore[method-assign]

    @property
    def seconds(self) -> float:
        """Up to now."""
        return self._samples + self._lines


def spent(step: Callable[[], None], span: float) -> float:
    """CPU microseconds a step, over so many seconds."""
    began, steps = process_time(), 0
    while process_time() - began < span:
        step()
        steps += 1
    return (process_time() - began) / steps * 1e6


def pairs(name: str) -> Iterator[tuple[list[float], list[float]]]:
    """What processes of their own say, without and with a watch."""
    for _ in range(PAIRS):
        said = []
        for watched in ("plain", "watched"):
            words = [sys.executable, "-m", "benchmarks.doctor_overhead", "--child", name, watched]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            said.append(json.loads(done.stdout.splitlines()[-1]))
        yield said[0], said[1]


def main(arguments: list[str]) -> None:
    """Measure the loops that are asked for, and print a table."""
    if arguments[:1] == ["--child"]:  # one process of a pair
        print(json.dumps(timed(arguments[1], arguments[2] == "watched")))
        return
    print("| loop | a step | the first seconds | then | of it the doctor's own |")
    print("|---|---|---|---|---|")
    for name in arguments or LOOPS:
        measured = list(pairs(name))
        early, then = (
            min(watched[part] for _, watched in measured) / min(without[part] for without, _ in measured) - 1
            for part in (0, 1)
        )
        plain = min(without[1] for without, _ in measured)
        own = median(watched[2] for _, watched in measured)
        print(f"| {name} | {plain:,.0f} us | {early:+.1%} | {then:+.1%} | {own:.1%} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
