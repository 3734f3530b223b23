"""WebDataset's layout of tar archives: members whose names differ in the extension make one element."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.blocks.block import Block
from penstock.blocks.build import column_of
from penstock.blocks.origin import Listed
from penstock.blocks.structure import LEAF, Structure
from penstock.errors import DataError, PenstockError
from penstock.graph.running import Context
from penstock.io.formats.reader import Reader
from penstock.io.formats.tar import Member, Tar, TarError
from penstock.io.stores.decompress import Plain, stream_of
from penstock.io.stores.opening import open_stored

KEY = "__key__"
PACKED = {b"\x1f\x8b": "GZIP", b"\x28\xb5": "ZSTD"}
"""The first bytes of compressed archives."""


class Layout:
    """The extensions of one run's elements: said by the user, or those of the first element."""

    def __init__(self, extensions: tuple[str, ...] | None, missing: Mapping[str, bytes]) -> None:
        self.said = extensions is not None
        self.extensions = extensions
        self.missing = missing

    def row(self, key: str, parts: dict[str, bytes]) -> list[bytes | str]:
        """An element's leaves in order. `ValueError` if it has others than the elements before."""
        if self.extensions is None:
            self.extensions = (*parts, *(name for name in self.missing if name not in parts))
        row: list[bytes | str] = [key]
        for name in self.extensions:
            part = parts.get(name, self.missing.get(name))
            if part is None:
                raise ValueError(
                    f"expected members with the extensions {list(self.extensions)}, got {list(parts)}. "
                    f"Say what stands for one that is not there: missing={{{name!r}: b''}}"
                )
            row.append(part)
        extra = [name for name in parts if name not in self.extensions]
        if extra and not self.said:
            raise ValueError(
                f"expected members with the extensions {list(self.extensions)}, got {extra} too. "
                f"Choose those that you need: extensions=[...]"
            )
        return row


def split_name(name: str) -> tuple[str, str]:
    """A member's key and its extension, in small letters: all from the first dot of its last part on."""
    folder, slash, last = name.rpartition("/")
    key, _, extension = last.partition(".")
    return folder + slash + key, extension.lower()


class WebReader(Reader):
    """One archive. Where it is damaged, it ends."""

    def __init__(self, path: str, context: Context, layout: Layout) -> None:
        self._path = path
        self._context = context
        self._layout = layout
        stored = open_stored(path, context)
        self._stream = stream_of(stored, PACKED.get(stored.read(0, 2)), context)
        self._tar = Tar(self._stream)
        self._first: Member | None = None
        """The member with which the next element begins; its data has not been read."""
        self._began = 0
        """Where the element at hand begins."""
        self._error: DataError | None = None
        self._ended = False

    def pull(self, rows: int) -> Block | None:
        made: list[list[bytes | str]] = []
        starts: list[int] = []
        size = 0
        while self._error is None and len(made) < rows and size < self._context.block_bytes:
            try:
                row = self._next_row()
            except DataError as damage:
                self._error = damage
                break
            if row is None:
                break
            made.append(row)
            starts.append(self._began)
            size += sum(map(len, row))
        if made:
            columns = [column_of(leaves) for leaves in zip(*made, strict=True)]
            origin = Listed([self._path], None, starts, not isinstance(self._stream, Plain))
            return Block(self._structure(), columns, len(made), origin=origin)
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return None

    def _structure(self) -> Structure:
        names = (KEY, *(self._layout.extensions or ()))
        return Structure(dict, names, (LEAF,) * len(names))

    def _next_row(self) -> list[bytes | str] | None:
        first = self._begin()
        if first is None:
            return None
        self._began = first.offset
        key, _ = split_name(first.name)
        parts: dict[str, bytes] = {}
        twice = ""
        member: Member | None = first
        while member is not None and split_name(member.name)[0] == key:
            extension = split_name(member.name)[1]
            twice = extension if extension in parts else twice
            try:
                if not self._layout.said or extension in (self._layout.extensions or ()):
                    parts[extension] = self._data(member)
                member = self._member()
            except DataError as error:
                return self._last_row(key, parts, error)
        self._first = member
        try:
            if twice:
                raise ValueError(f"expected each extension once, got {twice!r} twice")
            key.encode()
            return self._layout.row(key, parts)
        except UnicodeEncodeError:
            raise self._failed("expected a name in UTF-8", first.offset, key) from None
        except ValueError as error:
            raise self._failed(str(error), first.offset, key) from None

    def _last_row(self, key: str, parts: dict[str, bytes], error: DataError) -> list[bytes | str]:
        """The element before the damage, if nothing of it can be missing; the error comes after it."""
        if self._layout.extensions is None or any(name not in parts for name in self._layout.extensions):
            raise error
        self._error = error
        return self._layout.row(key, parts)

    def _begin(self) -> Member | None:
        first, self._first = self._first, None
        return self._member() if first is None else first

    def _member(self) -> Member | None:
        """The next file with a key and an extension."""
        while not self._ended:
            try:
                member = self._tar.next()
            except (TarError, DataError) as error:
                self._ended = True
                raise self._damaged(error) from None
            if member is None:
                self._ended = True
                self._look_behind()
                break
            if not member.is_file:
                continue
            key, extension = split_name(member.name)
            if extension and not key.endswith("/") and key:
                return member
            if not (member.name.startswith("__") and member.name.endswith("__")):
                self._context.note(f"passes over members without an extension, such as {member.name!r}")
        return None

    def _look_behind(self) -> None:
        """What is wrong behind the end comes after the last element."""
        try:
            self._tar.finish()
        except TarError as error:
            self._error = self._failed(str(error), error.offset)
        except DataError as error:
            self._error = error

    def _data(self, member: Member) -> bytes:
        try:
            self._tar.check(member)
            self._context.account.need(2 * member.size, "That is one member of an archive, unpacked.")
            return self._tar.data(member)
        except (TarError, DataError) as error:
            self._ended = True
            raise self._damaged(error) from None

    def _damaged(self, error: TarError | DataError) -> PenstockError:
        if isinstance(error, TarError):
            return self._failed(f"{error}. Nothing more is read of it", error.offset)
        return error

    def _failed(self, what: str, offset: int, key: str = "") -> DataError:
        element = f", {key!r}" if key else ""
        return DataError(
            f"{self._context.where}: {self._path} at byte {offset}{element}: {what}.",
            op=self._context.label,
            file=self._path,
            offset=offset,
        )

    def close(self) -> None:
        self._ended = True
        self._first = None
        self._stream.close()
