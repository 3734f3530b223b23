"""Hooks that are registered on parameters."""

from __future__ import annotations

from collections import Counter

import torch
from torch.nn.modules.module import register_module_forward_hook

from penstock.doctor.signals import Look
from penstock.doctor.signals.torch_hooks import MOST, meet, of_all_modules, of_parameters


def test_given_hooks_on_parameters_then_they_are_counted_and_those_removed_are_not() -> None:
    layer = torch.nn.Linear(2, 2)
    meet(list(layer.parameters()), Counter({"torch.nn.parameter.Parameter": 2}))
    before = of_parameters(Look())
    assert before is not None
    handles = [one.register_hook(lambda grad: grad) for one in layer.parameters() for _ in range(3)]
    handles.append(layer.weight.register_post_accumulate_grad_hook(lambda tensor: None))
    assert of_parameters(Look()) == before + 7
    for handle in handles:
        handle.remove()
    assert of_parameters(Look()) == before
    del layer, handles


def test_given_no_parameters_then_there_is_nothing_to_count() -> None:
    tensors: list[object] = [torch.zeros(2)]
    before = of_parameters(Look())
    meet(tensors, Counter())
    assert of_parameters(Look()) == before


def test_given_parameters_that_were_met_before_then_they_are_counted_once() -> None:
    layer = torch.nn.Linear(3, 3)
    for _ in range(2):
        meet(list(layer.parameters()), Counter({"torch.nn.parameter.Parameter": 2}))
    before = of_parameters(Look())
    assert before is not None
    handle = layer.weight.register_hook(lambda grad: grad)
    assert of_parameters(Look()) == before + 1
    handle.remove()


def test_given_a_large_model_of_before_then_a_new_one_is_looked_at() -> None:
    old = [torch.nn.Parameter(torch.zeros(1)) for _ in range(MOST)]
    meet(old, Counter({"torch.nn.parameter.Parameter": len(old)}))
    new = torch.nn.Parameter(torch.zeros(1))
    meet([new], Counter({"torch.nn.parameter.Parameter": 1}))
    before = of_parameters(Look())
    assert before is not None
    new.register_hook(lambda grad: grad)
    assert of_parameters(Look()) == before + 1


def test_given_hooks_for_all_modules_then_they_are_counted() -> None:
    before = of_all_modules(Look())
    assert before is not None
    handles = [register_module_forward_hook(lambda module, inputs, output: None) for _ in range(3)]
    assert of_all_modules(Look()) == before + 3
    for handle in handles:
        handle.remove()
    assert of_all_modules(Look()) == before
