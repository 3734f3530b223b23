"""The code that a finding shows says what the user's own code calls it."""

from __future__ import annotations

import pytest

from penstock.doctor.findings import Axis, Finding
from penstock.doctor.remedies import remedies
from penstock.doctor.source import spelled
from penstock.doctor.verdict import Growth


def sample(kind: str, name: str, of: str) -> str:
    growth, axis = Growth(1.0, 1.0, 1.0, 100.0), Axis("steps", "a step", (0.0, 1.0))
    return Finding(remedies()[kind], "", "members", axis, growth, 3, name=name, type=of).sample


def test_given_a_list_then_the_sample_has_its_name() -> None:
    said = sample("growing-container", "trainer.log['loss']", "list")
    assert "trainer.log['loss'] = deque(maxlen=100)  # was: trainer.log['loss'] = []" in said
    assert "history" not in said


@pytest.mark.parametrize("of", ["dict", "defaultdict", "OrderedDict"])
@pytest.mark.parametrize(
    "kind", ["growing-container", "torch-graph", "torch-tensors", "tf-tensors", "jax-arrays"]
)
def test_given_a_dict_then_the_sample_is_one_of_a_dict(kind: str, of: str) -> None:
    said = sample(kind, "seen", of)
    assert "seen" in said
    assert "append" not in said


def test_given_no_name_then_the_sample_is_that_of_the_page() -> None:
    assert sample("growing-container", "", "list") == remedies()["growing-container"].sample


@pytest.mark.parametrize("kind", sorted(remedies()))
def test_given_a_name_in_a_sample_then_it_is_in_all_of_them(kind: str) -> None:
    remedy = remedies()[kind]
    assert all(remedy.name in one for one in [remedy.sample, *remedy.samples.values()])
    assert remedy.name or not remedy.samples


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("history", "history"),
        ("trainer.log['loss'][0]", "trainer.log['loss'][0]"),
        ("log<messages>", ""),
        ("load(cache=)", ""),
        ("seen[...]", ""),
        ("rows[-1]", "rows[-1]"),
    ],
)
def test_given_a_way_then_it_is_code_only_where_it_can_be_written(path: str, code: str) -> None:
    assert spelled(path) == code
