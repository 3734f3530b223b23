"""A rule for people: the page of it, on the terminal and in `docs/rules/`."""

from __future__ import annotations

from penstock.doctor.lint.rule import Rule

LEVELS = {
    "error": "memory grows without end, or results are wrong",
    "warning": "time or memory is wasted",
    "note": "worth a thought",
}
NAMES = {
    "tensorflow": "TensorFlow",
    "penstock": "Penstock",
    "torch": "PyTorch",
    "jax": "JAX",
    "keras": "Keras",
}


def page(rule: Rule) -> str:
    """The page of a rule, in Markdown.

    >>> from penstock.doctor.lint.rules import rules
    >>> print(page(rules()["PSK006"]).splitlines()[0])
    # PSK006: shuffle after batch
    """
    about = ", ".join(NAMES[name] for name in rule.libraries if name in NAMES)
    met = "\n".join(f"- <{source}>" for source in rule.sources)
    return f"""\
# {rule.code}: {rule.title}
`{rule.name}`, {rule.level}: {LEVELS[rule.level]}. For code that uses {about}.

## Why
{rule.why}

## Fix
{rule.fix}

## Bad
```py
{rule.bad}```

## Good
```py
{rule.good}```

## Met in
{met}
"""
