"""Tar archives, as WebDataset lays them out: members whose names differ in the extension make one element."""

from __future__ import annotations

from penstock.cli.inspecting.findings import Column, FileFound, Finding, wider
from penstock.cli.inspecting.looking import Looking, open_bytes, words
from penstock.cli.inspecting.recognise import Kind
from penstock.cli.inspecting.values import look, show
from penstock.errors import DataError
from penstock.io.formats.tar import Tar
from penstock.io.formats.web import KEY, split_name

LARGEST = 16 << 20
"""Members up to this size are read; of others, the header alone."""
LOOKED = 64
NAMES = 1000
"""So many extensions are told apart."""


class _Members:
    """The elements of an archive so far."""

    def __init__(self, found: Finding, samples: int) -> None:
        self._found = found
        self._samples = samples
        self.columns: dict[str, Column] = {}
        self._looked: dict[str, list[bytes]] = {}
        self.elements = self.members = 0
        self._key: str | None = None

    def add(self, name: str, size: int, data: bytes | None) -> None:
        """Take in a member."""
        key, extension = split_name(name)
        self.members += 1
        if key != self._key:
            self._key = key
            self.elements += 1
            if self.elements <= self._samples:
                self._found.samples.append({KEY: show(key)})
        if extension not in self.columns:
            if len(self.columns) >= NAMES:
                return
            self.columns[extension] = Column(extension or "(none)", "bytes", present=0)
            self._looked[extension] = []
        column = self.columns[extension]
        column.present = (column.present or 0) + 1
        column.bytes = wider(column.bytes, (size, size))
        looked = self._looked[extension]
        if data is not None and len(looked) < LOOKED:
            looked.append(data[:8192])
        if self.elements <= self._samples:
            self._found.samples[-1][column.name] = "(large)" if data is None else show(data)

    def finish(self) -> None:
        """Tell what was found."""
        for extension, column in self.columns.items():
            column.looks_like = look(self._looked[extension])
        self._found.columns = list(self.columns.values())
        self._found.records = self.elements
        self._found.details["members"] = self.members


def inspect(path: str, kind: Kind, looking: Looking) -> Finding:
    """What is in a tar archive."""
    found = Finding(path, "tar", unit="element", compression=kind.compression)
    stream = open_bytes(path, kind.compression, looking.progress)
    members = _Members(found, looking.samples)
    try:
        tar = Tar(stream)
        while (member := tar.next()) is not None:
            if not member.is_file:
                continue
            if looking.records is not None and members.elements >= looking.records:
                found.whole = False
                break
            members.add(member.name, member.size, tar.data(member) if member.size <= LARGEST else None)
        else:
            tar.finish()
    except DataError as error:
        found.wrong(path, error.offset, f"{words(error)} (the offset is that in the packed file)")
    except ValueError as error:
        found.wrong(path, getattr(error, "offset", 0), str(error))
    finally:
        stream.close()
    members.finish()
    found.files = [FileFound(path, stream.stored.size, found.records, found.damaged)]
    return found
