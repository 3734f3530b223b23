"""The code that parses the records that were found."""

from __future__ import annotations

from penstock.cli.inspecting.findings import Column
from penstock.cli.inspecting.looking import plural

FEW = 4
"""So many files are named, and more by a pattern."""


def parsing_code(columns: list[Column], records: int, opening: str, *, whole: bool) -> str:
    """What to paste for `ps.io.parse_single_example`, or for the one of sequences.

    >>> opening = opening_code(["a.tfrecord"], "GZIP")
    >>> print(parsing_code([Column("x", "int64", present=9, values=(1, 1))], 9, opening, whole=True))
    features = {
        'x': ps.io.FixedLenFeature([], "int64"),
    }
    ds = ps.TFRecordDataset('a.tfrecord', compression_type='GZIP')
    ds = ds.map(lambda record: ps.io.parse_single_example(record, features))
    """
    lines = [] if whole else [f"# from the first {plural(records, 'record')} only"]
    sequence = any(column.part for column in columns)
    groups = (
        {"context": "context_features", "sequence": "sequence_features"} if sequence else {"": "features"}
    )
    for part, name in groups.items():
        lines.append(f"{name} = {{")
        mine = [column for column in columns if column.part == part]
        names = [column.name for column in mine]
        lines += ["    " + _line(column, records, several=names.count(column.name) > 1) for column in mine]
        lines.append("}")
    call = "parse_single_sequence_example" if sequence else "parse_single_example"
    lines.append(opening)
    lines.append(f"ds = ds.map(lambda record: ps.io.{call}(record, {', '.join(groups.values())}))")
    return "\n".join(lines)


def opening_code(files: list[str], compression: str | None) -> str:
    """How the files are read.

    >>> print(opening_code([f"d/train-{i}.tfrecord" for i in range(9)], None))
    files = ps.Dataset.list_files('d/train-*.tfrecord', shuffle=False)
    ds = ps.TFRecordDataset(files)
    >>> print(opening_code([f"d/{i}/part-{i}.tfrecord" for i in range(9)], None).splitlines()[0][:42])
    files = ['d/0/part-0.tfrecord', 'd/1/part-
    """
    packed = f", compression_type={compression!r}" if compression else ""
    if len(files) == 1:
        return f"ds = ps.TFRecordDataset({files[0]!r}{packed})"
    listed = repr(files)
    first = _common(files)
    last = _common([file[len(first) :][::-1] for file in files])[::-1]
    # A star stands for no folder.
    if len(files) > FEW and not any("/" in file[len(first) : len(file) - len(last)] for file in files):
        listed = f"ps.Dataset.list_files({first + '*' + last!r}, shuffle=False)"
    return f"files = {listed}\nds = ps.TFRecordDataset(files{packed})"


def _common(names: list[str]) -> str:
    """What all names begin with."""
    least, most = min(names), max(names)
    same = next((i for i, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), len(least))
    return least[:same]


def _line(column: Column, records: int, *, several: bool) -> str:
    name, dtype = repr(column.name), column.dtype
    if several:
        return f"# {name}: {dtype} in {plural(column.present or 0, 'record')}, of another kind in others"
    if dtype == "empty":
        return f"# {name}: no values in any record"
    fewest, most = column.values or (0, 0)
    fixed = fewest == most > 0
    shape = "[]" if most == 1 else f"[{most}]"
    if column.part == "sequence":
        if fixed:
            missing = "" if column.present == records else ", allow_missing=True"
            return f'{name}: ps.io.FixedLenSequenceFeature({shape}, "{dtype}"{missing}),'
        return f'{name}: ps.io.VarLenFeature("{dtype}"),'
    if fixed and column.present == records:
        return f'{name}: ps.io.FixedLenFeature({shape}, "{dtype}"),'
    note = "" if column.present == records else f"  # in {column.present:,} of {plural(records, 'record')}"
    return f'{name}: ps.io.VarLenFeature("{dtype}"),{note}'
