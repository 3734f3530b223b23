"""Writing TFRecord files: `ps.io.TFRecordWriter`."""

from __future__ import annotations

import contextlib
import os
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.columns import BytesColumn
from penstock.errors import ArgumentError, ArgumentTypeError, ClosedError, StoreError
from penstock.io.tfrecord_options import TFRecordOptions
from penstock.kernels import frames
from penstock.kernels.frames import FOOT, HEAD, frame, framed_size, head_and_foot
from penstock.kernels.spans import offsets_of
from penstock.site import user_site

Buffer = bytes | bytearray | memoryview


class TFRecordWriter:
    """Writes records to a TFRecord file, through a bounded buffer.

    `options` are `ps.io.TFRecordOptions`, or the compression alone, as in "GZIP". Closed by `close`, at the
    end of a `with`, or when nobody refers to it any more. A disk that is full is a `StoreError`; a file
    that is not compressed then ends with a whole record.

    >>> import tempfile
    >>> import penstock as ps
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ps.io.TFRecordWriter(f"{folder}/some.tfrecord") as writer:
    ...         writer.write(b"one")
    ...         writer.write(b"two")
    ...     list(ps.TFRecordDataset(f"{folder}/some.tfrecord"))
    [b'one', b'two']
    """

    def __init__(
        self, path: str | bytes | os.PathLike[Any], options: TFRecordOptions | str | None = None
    ) -> None:
        self._output = _Output(_path_of(path), _options_of(options))
        self._finalizer = weakref.finalize(self, self._output.drop)

    def write(self, record: bytes | bytearray | memoryview | str) -> None:
        """Write one record; a `str` is written in UTF-8.

        >>> import tempfile
        >>> import penstock as ps
        >>> with tempfile.NamedTemporaryFile() as file, ps.io.TFRecordWriter(file.name) as writer:
        ...     writer.write(b"a record")
        """
        if isinstance(record, str):
            record = record.encode()
        elif not isinstance(record, Buffer):
            raise ArgumentTypeError(
                f"TFRecordWriter.write at {user_site()}: expected bytes, got {record!r}. Serialize it first."
            )
        elif isinstance(record, memoryview):
            record = record.cast("B") if record.c_contiguous else record.tobytes()
        self._output.write(record)

    def write_block(self, records: BytesColumn) -> None:
        """Write all records of a column, without a Python object for each.

        >>> import tempfile
        >>> import numpy as np
        >>> import penstock as ps
        >>> from penstock.blocks.columns import BytesColumn
        >>> records = BytesColumn(np.frombuffer(b"onetwo", np.uint8), np.array([0, 3, 6]), text=False)
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     with ps.io.TFRecordWriter(file.name) as writer:
        ...         writer.write_block(records)
        ...     list(ps.TFRecordDataset(file.name))
        [b'one', b'two']
        """
        if not isinstance(records, BytesColumn) or records.shape != ():
            raise ArgumentTypeError(
                f"TFRecordWriter.write_block at {user_site()}: expected a BytesColumn with one record a row, "
                f"got {records!r}. Write one record with write."
            )
        self._output.write_block(records)

    def flush(self) -> None:
        """Hand what was written so far to the operating system, so that others can read it.

        >>> import os, tempfile
        >>> import penstock as ps
        >>> with tempfile.NamedTemporaryFile() as file, ps.io.TFRecordWriter(file.name) as writer:
        ...     writer.write(b"123")
        ...     writer.flush()
        ...     os.path.getsize(file.name)
        19
        """
        self._output.flush()

    def close(self) -> None:
        """Write what is left, and close the file. May be called more than once.

        >>> import tempfile
        >>> import penstock as ps
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     writer = ps.io.TFRecordWriter(file.name)
        ...     writer.close()
        """
        self._finalizer.detach()
        self._output.close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self.close()
        except StoreError:
            if kind is None:
                raise


def _path_of(path: Any) -> str:
    if not isinstance(path, str | bytes | os.PathLike) or not os.fspath(path):
        raise ArgumentTypeError(f"TFRecordWriter(path=) at {user_site()}: expected a path, got {path!r}.")
    name = os.fsdecode(path)
    if "://" in name:
        raise ArgumentError(
            f"TFRecordWriter(path=) at {user_site()}: expected a file of this machine, got {name!r}. "
            f"Write it here, and copy it there."
        )
    return str(name)


def _options_of(options: Any) -> TFRecordOptions:
    if options is None or isinstance(options, str):
        return TFRecordOptions(options)
    if not isinstance(options, TFRecordOptions):
        raise ArgumentTypeError(
            f"TFRecordWriter(options=) at {user_site()}: expected TFRecordOptions or the compression, as in "
            f"'GZIP', got {options!r}."
        )
    return options


class _Output:
    """An open file, and what has not been written to it yet."""

    def __init__(self, path: str, options: TFRecordOptions) -> None:
        self._path = path
        self._options = options
        self._packer = options.packer()
        self._frames: NDArray[np.uint8] = np.empty(max(options.buffer_size, HEAD + FOOT), np.uint8)
        self._records: list[bytes] = []
        self._waiting = 0
        """The bytes of the frames of those records."""
        self._size = 0
        self._error: StoreError | None = None
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise StoreError.of(error, path) from error
        try:
            frames.load()  # whoever does not close it has it closed at the end of the process
        except BaseException:
            os.close(self._file)
            raise

    def write(self, record: Buffer) -> None:
        size = framed_size(len(record))
        if self._waiting + size > len(self._frames):
            self._write_waiting()
        self._check()
        if size > len(self._frames):
            self._write_alone(record)
        else:
            self._records.append(bytes(record))
            self._waiting += size

    def write_block(self, records: BytesColumn) -> None:
        self._write_waiting()
        self._check()
        values, offsets = np.ascontiguousarray(records.values), np.ascontiguousarray(records.offsets)
        row = 0
        while row < records.rows:
            row, end = frame(values, offsets, row, self._frames, 0)
            if end:
                self._put(self._frames[:end].data)
            else:
                self._write_alone(values[offsets[row] : offsets[row + 1]].data)
                row += 1

    def flush(self) -> None:
        self._write_waiting()
        self._check()
        if self._packer is not None:
            self._put_packed(self._options.flushed(self._packer))

    def close(self) -> None:
        if self._file < 0:
            return
        try:
            if self._error is None:
                self._write_waiting()
                if self._packer is not None:
                    self._put_packed(self._packer.flush())
        finally:
            file, self._file = self._file, -1
            self._records = []
            try:
                os.close(file)
            except OSError as error:
                self._error = self._error or StoreError.of(error, self._path)
        if self._error is not None:
            raise self._error

    def drop(self) -> None:
        """Close a file that nobody closed. An error that was raised before is not raised again."""
        told = self._error is not None
        try:
            self.close()
        except StoreError:
            if not told:
                raise

    def _check(self) -> None:
        if self._file < 0:
            raise ClosedError(f"{self._path} was closed: nothing can be written to it.")
        if self._error is not None:
            raise self._error

    def _write_waiting(self) -> None:
        records, self._records, self._waiting = self._records, [], 0
        if records:
            values = np.frombuffer(b"".join(records), np.uint8)
            offsets = offsets_of(np.fromiter(map(len, records), np.int64, len(records)))
            _, end = frame(values, offsets, 0, self._frames, 0)
            self._put(self._frames[:end].data)

    def _write_alone(self, record: Buffer) -> None:
        """Write a record that is larger than the buffer."""
        head, foot = head_and_foot(record)
        self._put(head, record, foot)

    def _put(self, *parts: Buffer) -> None:
        """Write whole frames."""
        if self._packer is None:
            self._put_packed(*parts)
        else:
            for part in parts:
                self._put_packed(self._packer.compress(part))

    def _put_packed(self, *parts: Buffer) -> None:
        done = self._size
        try:
            for part in parts:
                left = memoryview(part)
                while left:
                    count = os.write(self._file, left)
                    done += count
                    left = left[count:]
        except OSError as error:
            self._error = StoreError.of(error, self._path, done)
            if self._packer is None:
                with contextlib.suppress(OSError):  # not every file can be cut, such as a pipe
                    os.ftruncate(self._file, self._size)
            raise self._error from error
        self._size = done
