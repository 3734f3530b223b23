"""Which lines can make a name longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.doctor.places import Places
from penstock.doctor.source import growing_lines


@pytest.mark.parametrize(
    ("line", "name", "grows"),
    [
        ("rows = np.concatenate([rows, row])", "rows", True),
        ("self.rows = self.joined(self.rows, row)", "rows", True),
        ("total, rows = total + 1, rows + [row]", "rows", True),
        ("scheduler = sched.scheduler(time.time)", "scheduler", False),
        ("self.rows = join(rows, row)", "rows", False),
        ("rows[step] = row", "rows", True),
        ("log.rows.append(row)", "rows", True),
        ("rows += [row]", "rows", True),
    ],
)
def test_given_a_line_then_it_makes_longer_what_it_makes_from_itself(
    line: str, name: str, grows: bool, tmp_path: Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text(line)
    found = growing_lines(Places(str(script)), str(script), name)
    assert [place.line for place in found] == ([1] if grows else [])
