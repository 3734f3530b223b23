"""How far the writing is, on a terminal."""

from __future__ import annotations

import sys
from time import perf_counter

EVERY = 0.2
"""Seconds between two lines."""


class Progress:
    """One line that is written over and over; nothing where nobody would see it."""

    def __init__(self, length: int | None, done: int) -> None:
        self._stream = sys.stderr
        self._shown = self._stream is not None and self._stream.isatty()
        self._length = length
        self._before = done
        self._began = perf_counter()
        self._said = self._began
        self._width = 0

    def tell(self, shards: int, elements: int, size: int) -> None:
        """So many files and elements are there, and so many bytes of them were written by this run."""
        if self._shown and perf_counter() - self._said >= EVERY:
            self._said = perf_counter()
            self._say(self._words(shards, elements, size))

    def end(self) -> None:
        """Leave the line empty."""
        if self._shown and self._width:
            self._say("")

    def _words(self, shards: int, elements: int, size: int) -> str:
        seconds = max(self._said - self._began, 1e-9)
        words = f"{shards} shards, {elements:,} elements"
        if self._length is not None:
            words += f" of {self._length:,}"
        words += f", {size / seconds / 1e6:.1f} MB/s"
        made = elements - self._before
        if self._length is not None and made > 0:
            left = seconds * (self._length - elements) / made
            words += f", {left:.0f} s to go"
        return words

    def _say(self, words: str) -> None:
        self._stream.write(f"\r{words.ljust(self._width)}" + ("" if words else "\r"))
        self._stream.flush()
        self._width = len(words)
