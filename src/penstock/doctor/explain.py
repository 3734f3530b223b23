"""A kind of finding for people: the page of it, on the terminal and in `docs/findings/`."""

from __future__ import annotations

from penstock.doctor.remedies import Remedy, remedies
from penstock.errors import PenstockError


def explain(kind: str) -> str:
    """The page of a kind, or of all of them.

    >>> print(explain("torch-graph").splitlines()[0])
    # Tensors are kept with the graph that made them
    """
    known = remedies()
    if kind == "all":
        return "\n".join(page(known[one]) for one in sorted(known))
    if kind not in known:
        raise PenstockError(
            f"Expected a kind of finding, got {kind!r}. There are: {', '.join(sorted(known))}."
        )
    return page(known[kind])


def page(remedy: Remedy) -> str:
    """The page of a kind, in Markdown."""
    return f"""\
# {remedy.title}
`{remedy.kind}`

```py
{remedy.bad}
```
**Why.** {remedy.why}

**Fix.** {remedy.fix}
```py
{remedy.sample}
```
**How it is seen.** {remedy.seen}

**What it is not.** {remedy.other}
"""
