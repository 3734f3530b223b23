"""Everything that rules may ask about a file."""

from __future__ import annotations

from functools import cached_property

from penstock.doctor.lint.module import Module
from penstock.doctor.lint.pipelines import Chain, Pipelines


class Facts(Module):
    """A file with its pipelines.

    >>> facts = Facts("import penstock as ps\\nds = ps.Dataset.range(9).shuffle(1)")
    >>> facts.whole[0].names
    ['shuffle']
    """

    @cached_property
    def pipelines(self) -> Pipelines:
        """The pipelines of the file."""
        return Pipelines(self)

    @cached_property
    def whole(self) -> list[Chain]:
        """Every pipeline as far as it goes."""
        return self.pipelines.whole()
