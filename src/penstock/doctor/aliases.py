"""What a container is called in the functions that other threads are at."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping

from penstock.doctor.inside import inside_of
from penstock.doctor.places import Places, names_of

Alias = tuple[str, str]
"""A file, and a name in it."""


def aliases(places: Places, things: Mapping[int, str]) -> Iterator[tuple[str, Alias]]:
    """Of things by their ids: each with its key, and what a function calls it, or an attribute in it."""
    me = threading.get_ident()
    for thread, frame in list(sys._current_frames().items()):
        for one in places.stack(frame) if thread != me else ():
            file = one.f_code.co_filename
            for name, value in names_of(one).items():
                if id(value) in things:
                    yield things[id(value)], (file, name)
                inside = inside_of(value)
                for attribute, part in list(inside.items()) if type(inside) is dict else ():
                    if id(part) in things:
                        yield things[id(part)], (file, str(attribute))
