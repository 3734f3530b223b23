"""`shuffle(1)` does nothing."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.module import constant
from penstock.doctor.lint.rule import Hit, Rule


def check(facts: Facts) -> Iterator[Hit]:
    """`shuffle` whose buffer is surely 1 (or 0)."""
    for chain in facts.whole:
        for _, step in chain.find("shuffle"):
            size = step.argument("buffer_size", 0)
            if size is not None:
                sizes = [constant(one) for one, _ in facts.origins(size, step.frame)]
                if sizes and all(type(one) is int and one in {0, 1} for one in sizes):
                    yield (
                        step.call,
                        f"shuffle({sizes[0]}) does not shuffle: the buffer holds a single element",
                    )


RULE = Rule(
    code="PSK007",
    name="shuffle-of-one",
    level="warning",
    title="shuffle of size 1",
    why="`shuffle` draws from a buffer of `buffer_size` elements. With one element there is nothing to "
    "draw from, and the order stays as it is.",
    fix="Give the number of elements to draw from: as many as the data set has if they fit, or some "
    "thousands.",
    bad="""\
import penstock as ps

ds = ps.Dataset.from_tensor_slices(x).shuffle(buffer_size=1).batch(32)
""",
    good="""\
import penstock as ps

ds = ps.Dataset.from_tensor_slices(x).shuffle(buffer_size=10_000).batch(32)
""",
    check=check,
    libraries=("tensorflow", "penstock"),
    hints=(r"\.shuffle\(",),
    sources=("https://www.tensorflow.org/api_docs/python/tf/data/Dataset#shuffle",),
)
