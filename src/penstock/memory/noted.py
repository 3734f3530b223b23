"""References that leave a note when what they refer to dies."""

from __future__ import annotations

import weakref
from typing import Any


class NotedRef(weakref.ref[Any]):
    """A weak reference with a key, for a callback written in C: `deque.append`, say.

    Python raises Ctrl-C in whatever Python code runs next: in such a callback it would be lost.
    """

    __slots__ = ("key",)
    key: int
