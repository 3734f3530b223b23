"""Hooks of torch that are registered at every step."""

from __future__ import annotations

HOOKS = (
    "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks", "_state_dict_hooks",
    "_load_state_dict_pre_hooks", "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks",
    "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_state_dict_pre_hooks",
)  # fmt: skip


def kept(thing: object, where: str) -> str | None:
    """A hook, known by what it is kept in."""
    del thing
    return "torch-hooks" if where.removeprefix(".") in HOOKS else None
