"""The rules, one file each: a new file with a `RULE` in it is a new rule."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from penstock.doctor.lint.rule import Rule


@cache
def rules() -> dict[str, Rule]:
    """All rules by code.

    >>> rules()["PSK006"].title
    'shuffle after batch'
    """
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name.startswith("psk"))
    found = [importlib.import_module(f"{__name__}.{name}").RULE for name in names]
    return {rule.code: rule for rule in found}
