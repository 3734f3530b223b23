"""A table in plain text."""

from __future__ import annotations

from collections.abc import Sequence


def counted(elements: int) -> str:
    """A number of elements, in words.

    >>> counted(1), counted(2000)
    ('1 element', '2,000 elements')
    """
    return f"{elements:,} element{'' if elements == 1 else 's'}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns lined up: the first to the left, the others to the right.

    >>> print(table(["op", "rows"], [["range", "12"], ["batch", "3"]]))
    op     rows
    -----  ----
    range    12
    batch     3
    """
    lines = [list(header), *[list(row) for row in rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
