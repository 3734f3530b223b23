"""`ignore_errors`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

import numpy as np
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
        (note,) = it._run.meters["ignore_errors"].notes
        assert note.startswith("left out 3 elements that failed, the first of them: map at ")
        assert "element 0" in note and "0 is bad" in note and "2 is bad" not in note

    def test_given_one_failing_element_then_the_report_quotes_it_on_one_line(self) -> None:
        def wordy(x: np.int64) -> np.int64:
            if x == 1:
                raise ValueError("first line\nsecond line " + "x" * 1000)
            return x

        with ps.Dataset.range(3).map(wordy).ignore_errors().iterate() as it:
            list(it)
            (line,) = [line for line in str(it.report()).splitlines() if "left out" in line]
        assert "left out 1 element that failed: map at" in line and "first line second line" in line
        assert len(line) < 500

    def test_given_a_state_then_the_first_error_is_still_quoted(self) -> None:
        ds = failing(6, 0, 4).ignore_errors()
        with ds.iterate() as it:
            next(it)
            state = it.state()
        with ds.iterate(state=state) as it:
            list(it)
            assert "left out 2 elements that failed, the first of them" in str(it.report())
            assert "0 is bad" in str(it.report())

    def test_given_endless_repetition_then_no_more_than_a_few_notes_are_kept(self) -> None:
        def fails(x: np.int64) -> np.int64:
            if x < 40:
                raise ValueError(f"{x} is bad")
            return x

        ds = ps.Dataset.range(80).shuffle(80).map(fails).ignore_errors().repeat(60)
        with ds.iterate() as it:
            assert len(list(it)) == 2400
            assert len(it._run.meters["ignore_errors"].notes) <= 10

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

    def test_given_many_elements_that_all_fail_then_it_warns_and_says_why(self) -> None:
        with pytest.warns(UserWarning, match=r"ignore_errors at .* all of its 20 elements.*0 is bad"):
            assert events(failing(20, *range(20)).ignore_errors()) == []
        assert events(failing(20, *range(19)).ignore_errors()) == [19]  # without a word
