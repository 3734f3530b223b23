"""The files of a saved dataset whose rows are gathered."""

from __future__ import annotations

from collections.abc import Callable

from penstock.io.formats.saved_file import SavedFile

OPEN = 256
"""The most files that are open at a time."""


class SavedFiles:
    """Keeps what is known of the files, as far as `request` has room for it; of these, few are open.

    `request` reserves bytes if it can, and `release` gives them back.
    """

    def __init__(
        self,
        opened: Callable[[int], SavedFile],
        request: Callable[[int], bool],
        release: Callable[[int], None],
    ) -> None:
        self._opened = opened
        self._request = request
        self._release = release
        # Both in the order of their use.
        self._known: dict[int, tuple[SavedFile, int]] = {}
        self._awake: dict[int, SavedFile] = {}

    def get(self, number: int) -> SavedFile:
        """A file, for the next rows that are gathered."""
        found = self._known.pop(number, None)
        if found is None:
            found = self._counted(self._opened(number))
        self._known[number] = found
        self._awake.pop(number, None)
        self._awake[number] = found[0]
        if len(self._awake) > OPEN:
            self._awake.pop(next(iter(self._awake))).rest()
        return found[0]

    def _counted(self, file: SavedFile) -> tuple[SavedFile, int]:
        size = file.index.table.nbytes
        while not self._request(size):
            if not self._known:
                return file, 0  # one is needed in any case
            number = next(iter(self._known))
            oldest, reserved = self._known.pop(number)
            self._awake.pop(number, None)
            oldest.rest()  # its rows may be among those that are just being gathered
            self._release(reserved)
        return file, size

    def close(self) -> None:
        """Let go of all files."""
        for file, reserved in self._known.values():
            file.close()
            self._release(reserved)
        self._known.clear()
        self._awake.clear()
