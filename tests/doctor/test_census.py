"""How many objects of each type there are."""

from __future__ import annotations

import gc

from penstock.doctor.census import Census


class Part:
    """Something to count."""


NAME = f"{Part.__module__}.{Part.__qualname__}"


def test_given_objects_that_were_frozen_after_a_look_then_they_are_counted_on() -> None:
    census, kept = Census(), [Part() for _ in range(3)]
    census.begin()
    try:
        kept += [Part() for _ in range(4)]
        look = census.look()
        assert look.types[NAME] == 7
        gc.unfreeze()  # as one does to find who keeps a thing
        gc.freeze()
        census.set_aside(look)
        del look
        kept += [Part() for _ in range(5)]
        assert census.look().types[NAME] == 12
    finally:
        census.end()
