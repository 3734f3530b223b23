"""How long the histories of torch's tensors are, and who makes them longer."""

from __future__ import annotations

from typing import Any

import torch

from penstock.doctor.places import Places
from penstock.doctor.signals import Look, Suspect, history_of
from penstock.doctor.signals.torch_graphs import DEEPEST, depth, is_continued, longest, moment


def added(start: Any, times: int) -> Any:
    for _ in range(times):
        start = start + 1
    return start


def test_given_a_longer_and_longer_history_then_it_is_counted_on_from_where_it_was() -> None:
    tensor = added(torch.zeros((), requires_grad=True), 10)
    first = depth(Look([tensor]))
    assert first == 11  # ten additions, and the leaf
    seen = []
    for _ in range(3):
        tensor = added(tensor, 1000)
        seen.append(depth(Look([tensor])))
    assert seen == [first + (i + 1) * 1000 for i in range(3)]
    assert depth(Look([tensor.detach()])) == 0


def test_given_a_history_that_is_too_long_then_it_is_followed_no_more_and_can_be_let_go() -> None:
    tensor = torch.zeros((), requires_grad=True)
    for _ in range(30):  # torch would let go of what Python has seen one inside of the other: 60,000 calls
        tensor = added(tensor, DEEPEST // 2)
        last = depth(Look([tensor]))
    assert last is None
    tensor = added(torch.zeros((), requires_grad=True), 10)
    assert depth(Look([tensor])) == 11


class Slotted:
    __slots__ = ("value",)


def accumulate() -> Suspect:
    weight = torch.ones((), requires_grad=True)
    total = torch.zeros(())
    other = Slotted()
    found = Suspect()
    for step in range(20):
        loss = weight * step
        total = total + loss  # the line that is looked for
        if step == 19:
            found = longest(Places())
    del other, loss
    return found


def test_given_a_total_with_a_history_then_its_name_and_line_are_found() -> None:
    found = accumulate()
    assert found.chain == ("`total`",)
    assert found.place is not None
    first = accumulate.__code__.co_firstlineno
    assert (found.place.file, found.place.line) == (__file__, first + 7)


def test_given_a_tensor_then_the_length_of_its_history_is_known_where_it_has_one() -> None:
    leaf = torch.zeros((), requires_grad=True)
    assert history_of(added(leaf, 10)) == 11
    assert history_of(leaf) is None
    assert history_of(added(leaf, 3).detach()) is None
    assert history_of([leaf]) is None


def test_given_a_history_that_goes_on_from_one_of_a_moment_before_then_that_is_known() -> None:
    leaf = torch.ones(1, requires_grad=True)
    total = added(leaf, 3)
    seen = []
    for _ in range(3):
        moment()
        total = total + leaf
        part = total * 2
        assert history_of(total) is not None and history_of(part) is not None
        seen.append((is_continued(total), is_continued(part)))
    assert seen == [(False, False), (True, True), (True, True)]


def test_given_a_longer_history_that_is_made_anew_at_each_moment_then_it_does_not_go_on() -> None:
    leaf = torch.ones(1, requires_grad=True)
    for length in (3, 5, 7):
        moment()
        hidden = added(leaf, length)
        loss = hidden * 2
        assert history_of(hidden) == length + 1 and history_of(loss) == length + 2
        assert is_continued(hidden) is False and is_continued(loss) is False
    assert is_continued(leaf) is None
