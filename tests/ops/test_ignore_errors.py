"""`ignore_errors`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

import pytest

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import events, failing


class TestIgnoreErrors(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "some": lambda: failing(20, 0, 3, 4, 19).ignore_errors(),
            "none": lambda: ps.Dataset.range(5).ignore_errors(),
            "all": lambda: failing(3, 0, 1, 2).ignore_errors(),
        }

    def test_given_failing_elements_then_the_others_come(self) -> None:
        assert events(failing(6, 0, 2, 3).ignore_errors()) == [1, 4, 5]

    def test_given_failing_elements_then_the_report_counts_them(self) -> None:
        it = failing(6, 0, 2, 3).ignore_errors().iterate()
        assert len(list(it)) == 3
        assert it._run.meters["map"].failed == 3
        assert it._run.meters["ignore_errors"].notes == ["left out 3 elements that failed"]

    def test_given_log_warning_then_each_is_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING, "penstock"):
            list(failing(4, 1).ignore_errors())
            assert caplog.messages == []
            list(failing(4, 1).ignore_errors(log_warning=True))
        assert len(caplog.messages) == 1
        assert "1 is bad" in caplog.messages[0]

    def test_given_what_is_no_failing_element_then_it_still_raises(self) -> None:
        ds = ps.Dataset.range(3).apply(ps.assert_cardinality(2)).ignore_errors()
        with pytest.raises(ps.errors.CardinalityError):
            list(ds)

    def test_given_any_input_then_the_cardinality_is_unknown(self) -> None:
        assert ps.Dataset.range(3).ignore_errors().cardinality() == ps.UNKNOWN

    def test_given_a_wrong_flag_then_declaring_fails_and_names_the_line(self) -> None:
        with pytest.raises(TypeError, match=r"ignore_errors.*test_ignore_errors\.py:\d+"):
            ps.Dataset.range(3).ignore_errors(log_warning=1)  # type: ignore[arg-type]
