"""Hooks of torch that are registered at every step."""

from __future__ import annotations

import sys
import weakref
from collections import Counter
from collections.abc import Sequence

from penstock.doctor.signals import Look, Signal

HOOKS = (
    "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks", "_state_dict_hooks",
    "_load_state_dict_pre_hooks", "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks",
    "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_state_dict_pre_hooks",
)  # fmt: skip
OF_TENSORS = ("_backward_hooks", "_post_accumulate_grad_hooks")
GLOBAL = ("torch.nn.modules.module", "torch.optim.optimizer")
"""Where hooks are kept that are called for all."""
MOST = 300
"""So many parameters are looked at."""

_PARAMETERS: dict[int, weakref.ref[object]] = {}
"""By their ids: two tensors cannot be compared as members of a set are."""


def kept(thing: object, where: str) -> str | None:
    """A hook, known by what it is kept in."""
    del thing
    return "torch-hooks" if where.removeprefix(".") in HOOKS else None


def meet(objects: Sequence[object], types: Counter[str]) -> None:
    """Take note of the parameters that there are."""
    parameter = getattr(sys.modules.get("torch.nn"), "Parameter", None)
    if parameter is None or not types["torch.nn.parameter.Parameter"]:
        return
    for one in objects:
        if type(one) is parameter:
            _PARAMETERS[id(one)] = weakref.ref(one)
    for key in [key for key, ref in _PARAMETERS.items() if ref() is None]:
        del _PARAMETERS[key]
    for key in list(_PARAMETERS)[:-MOST]:  # the newest are looked at
        del _PARAMETERS[key]


def of_all_modules(_: Look) -> float | None:
    """How many hooks there are that are called for every module, or every optimizer."""
    tables = [
        table
        for owner in GLOBAL
        for name, table in list(vars(sys.modules[owner]).items() if owner in sys.modules else ())
        if name.startswith("_global_") and isinstance(table, dict)
    ]
    return float(sum(map(len, tables)))


def of_parameters(_: Look) -> float | None:
    """How many hooks the parameters have, which no name leads to."""
    there = [one for ref in list(_PARAMETERS.values()) if (one := ref()) is not None]
    return float(sum(len(getattr(one, name, None) or ()) for one in there for name in OF_TENSORS))


SIGNALS = [
    Signal("torch.global_hooks", "torch-hooks", "hooks", 8, of_all_modules, needs="torch.nn", quick=True),
    Signal("torch.hooks", "torch-hooks", "hooks", 20, of_parameters, needs="torch.nn", quick=True),
]
