"""The types of values in text: what those of a column have in common, and their range."""

from __future__ import annotations

import math
from typing import Any

from penstock.cli.inspecting.findings import Column


class Typed:
    """One column of values, as Python has them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.present = 0
        self.kinds: dict[str, int] = {}
        self._least: Any = math.inf
        self._most: Any = -math.inf
        self._short, self._long = 1 << 62, -1
        self._few, self._many = 1 << 62, -1

    def add(self, value: Any) -> None:
        """Take in a value; None is a null."""
        if value is None:
            return
        self.present += 1
        kind = type(value).__name__
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if kind in ("int", "float"):
            if value < self._least:
                self._least = value
            if value > self._most:
                self._most = value
        elif kind == "str":
            size = len(value) if value.isascii() else len(value.encode(errors="surrogatepass"))
            self._short, self._long = min(self._short, size), max(self._long, size)
        elif kind in ("list", "dict"):
            self._few, self._many = min(self._few, len(value)), max(self._many, len(value))

    def column(self) -> Column:
        """What is known of it."""
        kinds = set(self.kinds)
        if kinds == {"int", "float"}:
            kinds = {"float"}
        return Column(
            self.name,
            " or ".join(sorted(kinds)) or "null",
            present=self.present,
            values=(self._few, self._many) if self._many >= 0 else None,
            range=(self._least, self._most) if self._least <= self._most else None,
            bytes=(self._short, self._long) if self._long >= 0 else None,
        )


def value_of(text: str) -> Any:
    """What a field of a CSV file holds: a whole number, a number, text, or nothing.

    >>> value_of("12"), value_of("-1.5e3"), value_of("a"), value_of("1_000"), value_of("")
    (12, -1500.0, 'a', '1_000', None)
    """
    if not text:
        return None
    if text[-1] > "9" and text[-3:].lower() not in ("nan", "inf"):
        return text
    if "_" in text:
        return text
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
