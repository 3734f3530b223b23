"""How a map is run, found out by running it."""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps
from contract.op_contract import drain
from penstock.functions.row_function import RowFunction


def why_row_by_row(ds: ps.Dataset) -> str:
    """Why a dataset's map is called row by row; empty if it is called over whole blocks to the end."""
    reasons: list[str] = []
    real = RowFunction.apply

    def apply(self: RowFunction, *args: Any) -> Any:
        outcome = real(self, *args)
        reasons.append(self.why)
        return outcome

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RowFunction, "apply", apply)
        drain(ds)
    return reasons[-1]
