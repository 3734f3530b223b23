"""Folders that are one thing: a data set that Penstock has written, or pictures by class."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from penstock.cli.inspecting.findings import Finding
from penstock.cli.inspecting.looking import Looking
from penstock.errors import PenstockError
from penstock.io.formats.image_folder import EXTENSIONS, class_names

MANIFEST = "manifest.json"
SHOWN = 100
"""So many classes are named."""


def inspect_folder(path: str, looking: Looking) -> Iterator[Finding] | None:
    """What such a folder is; None if it is just a folder with files."""
    said = _manifest_format(path)
    if said in ("penstock-tfrecord", "penstock-saved"):
        return iter([_written(path, said, looking)])
    if any(_pictures(path)):
        return iter([_by_class(path, looking)])
    return None


def _manifest_format(path: str) -> str:
    """What the manifest of a folder says that it is of; nothing where there is none."""
    try:
        data = Path(path, MANIFEST).read_bytes()
    except OSError:
        return ""
    try:
        said = json.loads(data)
        return str(said.get("format", "")) if isinstance(said, dict) else ""
    except ValueError:  # damaged, and yet it says what it was
        return next((name for name in ("penstock-saved", "penstock-tfrecord") if name.encode() in data), "")


def _written(path: str, said: str, looking: Looking) -> Finding:
    from penstock.cli.inspecting.saved import inspect_saved
    from penstock.cli.inspecting.written import inspect_written

    try:
        return inspect_written(path, looking) if said == "penstock-tfrecord" else inspect_saved(path, looking)
    except PenstockError as error:
        name = "TFRecord" if said == "penstock-tfrecord" else "saved dataset"
        return Finding(path, name, error=str(error))


def _pictures(path: str) -> Iterator[str]:
    """The pictures of each class; none where the folder has files of its own."""
    with os.scandir(path) as entries:
        if any(one.is_file() and not one.name.startswith(".") for one in entries):
            return
    for name in class_names(path):
        for top, _, files in os.walk(Path(path, name)):
            for file in sorted(files):
                if file.lower().endswith(EXTENSIONS):
                    yield str(Path(top, file))


def _by_class(path: str, looking: Looking) -> Finding:
    from penstock.cli.inspecting.pictures import look_at

    found = Finding(path, "folder of pictures", unit="picture")
    classes: dict[str, int] = dict.fromkeys(class_names(path), 0)

    def counted() -> Iterator[str]:
        for file in _pictures(path):
            yield file
            classes[Path(file).relative_to(path).parts[0]] += 1

    look_at(found, counted(), looking)
    found.details["classes"] = dict(list(classes.items())[:SHOWN])
    if len(classes) > SHOWN:
        found.details["more_classes"] = len(classes) - SHOWN
    return found
