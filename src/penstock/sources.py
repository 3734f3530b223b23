"""Datasets over files: one forwarding function a format, with tf.data's names and arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.cluster.from_ray import FromRay
from penstock.dataset import Dataset
from penstock.io.formats.image_folder import EXTENSIONS
from penstock.ops.array_record import ArrayRecords
from penstock.ops.arrow import Arrow
from penstock.ops.csv import Csv, numbers_of
from penstock.ops.csv import columns_of as csv_columns_of
from penstock.ops.fixed_length import FixedLengthRecords
from penstock.ops.from_tensorflow import FromTensorflow
from penstock.ops.image_folder import ImageFolder
from penstock.ops.json_lines import JsonLines, fields_of, spec_of_user
from penstock.ops.npy import Npy
from penstock.ops.parquet import Parquet
from penstock.ops.parts.file_arguments import (
    columns_of,
    endings_of,
    fills_of,
    folder_of,
    names_alone,
    parts_of,
)
from penstock.ops.parts.files import FilesOp, names_of
from penstock.ops.text_line import TextLines
from penstock.ops.tfrecord import TFRecords
from penstock.ops.web import Web


def TFRecordDataset(  # noqa: N802
    filenames: Any,
    compression_type: str | None = None,
    buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    name: str | None = None,
) -> Dataset:
    """The records of TFRecord files, as `bytes`, both checksums of each checked.

    `filenames` is a name, an array or a list of names, or a dataset of them. `compression_type` is None or
    "", "GZIP", "ZLIB" or "ZSTD"; `buffer_size` is about how many bytes are read at a time. With
    `num_parallel_reads`, so many files are read in turn, a record of each.

    A damaged record is a `DataError` that names the file and the byte, and reading goes on after it;
    where the length of a record is damaged, or a file is cut off, it goes on with the next file.

    Over files of this machine that are not compressed, `shuffle()` without a size keeps no records: it reads
    them in a random order, through an index that it makes once beside each file, `.NAME.penstock-index`
    (or in the user's cache folder). Once a whole shuffle has found every record good, the index says so, and
    `skip` and `shard` no longer read what they leave out; until then, and where a record is damaged, they
    read in order. The length is `ps.UNKNOWN` all the same, as nothing is opened before the dataset is
    iterated.

    >>> import tempfile
    >>> import penstock as ps
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     with ps.io.TFRecordWriter(file.name, "GZIP") as writer:
    ...         for text in (b"one", b"two", b"three"):
    ...             writer.write(text)
    ...     list(ps.TFRecordDataset(file.name, "GZIP"))
    [b'one', b'two', b'three']
    """
    op = TFRecords(
        **names_of(filenames, "TFRecordDataset"),
        compression_type=compression_type,
        buffer_size=buffer_size,
        num_parallel_reads=num_parallel_reads,
    )
    return _over_files(op, filenames, name)


def ParquetDataset(  # noqa: N802
    filenames: Any,
    columns: Sequence[str] | None = None,
    batch_rows: int | None = None,
    fill_nulls: Mapping[str, Any] | None = None,
    num_parallel_reads: int | None = None,
    name: str | None = None,
) -> Dataset:
    """The rows of Parquet files, each a dict of its columns (needs the extra `parquet`).

    `filenames` is a name, a list of names, or a dataset of them; all files have the same columns. Only
    `columns` are read, in that order. Row groups are read in batches of `batch_rows`, by default so many
    as make a block, so a row group may be of any size. With `num_parallel_reads`, so many files are read
    in turn, a row of each.

    Numbers, bools, times (datetime64, UTC) and fixed-size lists are arrays of one shape, strings are
    `str`, binary is `bytes`, lists are arrays of any length, structs are dicts, lists of structs dicts of
    lists, decimals float64. A row with a null is a `DataError` that names the column, unless `fill_nulls`
    has a value for it: `{"age": 0, "score": float("nan")}`, `"a.b"` for a field of a struct, `"a.item"`
    for what is in a list. `ignore_errors()` leaves such rows out.

    Declaring it opens no file, so its cardinality is unknown; see `assert_cardinality`. Rows of a row
    group are decoded together, so it has no random access: shuffle the file names, and then the rows.

    >>> import tempfile
    >>> import penstock as ps
    >>> import pyarrow as pa, pyarrow.parquet
    >>> table = pa.table({"x": [1, 2, None], "y": ["a", "b", "c"], "z": [0.5, 1.5, 2.5]})
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     pa.parquet.write_table(table, file.name)
    ...     for row in ps.ParquetDataset(file.name, columns=["y", "x"], fill_nulls={"x": 0}):
    ...         print(row)
    {'y': 'a', 'x': np.int64(1)}
    {'y': 'b', 'x': np.int64(2)}
    {'y': 'c', 'x': np.int64(0)}
    """
    op = Parquet(
        **names_of(filenames, "ParquetDataset"),
        columns=columns_of(columns, "ParquetDataset"),
        batch_rows=batch_rows,
        fill_nulls=fills_of(fill_nulls, "ParquetDataset"),
        num_parallel_reads=num_parallel_reads,
    )
    return _over_files(op, filenames, name)


def NpyDataset(  # noqa: N802
    filenames: Any, arrays: Sequence[str] | None = None, name: str | None = None
) -> Dataset:
    """The rows of arrays in `.npy` and `.npz` files, which are never read as a whole.

    A row of an `.npy` file is an array, one of an `.npz` file is a dict of the rows of its arrays, or of
    those named by `arrays`, which have one length. All files have rows of one dtype and shape, and their
    rows come one file after another.

    Files of this machine are mapped, and rows copied out of them, so a shuffle after it keeps row numbers
    and no rows. Members of an archive that are compressed are unpacked as they are read; for a shuffle
    they are unpacked once, to a scratch file. Declaring it opens no file, so its cardinality is unknown.

    >>> import tempfile
    >>> import numpy as np
    >>> import penstock as ps
    >>> with tempfile.NamedTemporaryFile(suffix=".npz") as file:
    ...     np.savez(file, x=np.arange(6).reshape(3, 2), y=np.array([7, 8, 9]))
    ...     for row in ps.NpyDataset(file.name):
    ...         print(row["x"], row["y"])
    [0 1] 7
    [2 3] 8
    [4 5] 9
    """
    op = Npy(
        filenames=names_alone(filenames, "NpyDataset"), arrays=columns_of(arrays, "NpyDataset", "arrays")
    )
    return Dataset(op.named(name))


def TextLineDataset(  # noqa: N802
    filenames: Any,
    compression_type: str | None = None,
    buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    name: str | None = None,
) -> Dataset:
    r"""The lines of text files, as `bytes` without the `\n` or `\r\n` at their end.

    `filenames` is a name, an array or a list of names, or a dataset of them. `compression_type` is None or
    "", "GZIP", "ZLIB" or "ZSTD"; `buffer_size` is about how many bytes are read at a time. With
    `num_parallel_reads`, so many files are read in turn, a line of each. Empty lines are elements too.

    >>> import tempfile
    >>> import penstock as ps
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b"to be\r\n\nor not")
    ...     file.flush()
    ...     list(ps.TextLineDataset(file.name))
    [b'to be', b'', b'or not']
    """
    op = TextLines(
        **names_of(filenames, "TextLineDataset"),
        compression_type=compression_type,
        buffer_size=buffer_size,
        num_parallel_reads=num_parallel_reads,
    )
    return _over_files(op, filenames, name)


def FixedLengthRecordDataset(  # noqa: N802
    filenames: Any,
    record_bytes: int,
    header_bytes: int | None = None,
    footer_bytes: int | None = None,
    buffer_size: int | None = None,
    compression_type: str | None = None,
    num_parallel_reads: int | None = None,
    name: str | None = None,
) -> Dataset:
    """The records of files in which each has `record_bytes` bytes, as `bytes`.

    `header_bytes` at the beginning and `footer_bytes` at the end of each file are passed over. A file whose
    length does not fit is a `DataError`, and reading goes on with the next file. The other arguments are
    those of `TextLineDataset`.

    >>> import tempfile
    >>> import penstock as ps
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b"#abcdef")
    ...     file.flush()
    ...     list(ps.FixedLengthRecordDataset(file.name, record_bytes=3, header_bytes=1))
    [b'abc', b'def']
    """
    op = FixedLengthRecords(
        **names_of(filenames, "FixedLengthRecordDataset"),
        record_bytes=record_bytes,
        header_bytes=header_bytes,
        footer_bytes=footer_bytes,
        compression_type=compression_type,
        buffer_size=buffer_size,
        num_parallel_reads=num_parallel_reads,
    )
    return _over_files(op, filenames, name)


def CsvDataset(  # noqa: N802
    filenames: Any,
    record_defaults: Any,
    compression_type: str | None = None,
    buffer_size: int | None = None,
    header: bool = False,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    exclude_cols: Sequence[int] | None = None,
    num_parallel_reads: int | None = None,
    name: str | None = None,
) -> Dataset:
    """The records of CSV files, each a tuple of its columns.

    `record_defaults` has an item for each column that is read: a dtype (`np.int32`, `np.int64`,
    `np.float32`, `np.float64`, `bytes` or `str`) where there has to be a value, or a list with the value
    that stands in for a field that is empty or `na_value`. With a `header`, the first record of each file
    is passed over. `select_cols` or `exclude_cols` are numbers of columns, from 0.

    A field in quotes may hold delimiters, ends of lines and doubled quotes, unless `use_quote_delim` is
    False. A record that is at fault is a `DataError` that names file, line and byte, and the next one
    follows. Empty lines at the end of a file are passed over, and so is a byte order mark at its beginning.
    The other arguments are those of `TextLineDataset`.

    >>> import tempfile
    >>> import numpy as np
    >>> import penstock as ps
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b'city,people,area\\n"Paris, FR",2102650,105.4\\nOslo,,454.0\\n')
    ...     file.flush()
    ...     for city, people in ps.CsvDataset(file.name, [str, [-1]], header=True, select_cols=[0, 1]):
    ...         print(city, people)
    Paris, FR 2102650
    Oslo -1
    """
    op = Csv(
        **names_of(filenames, "CsvDataset"),
        record_defaults=csv_columns_of(record_defaults),
        compression_type=compression_type,
        buffer_size=buffer_size,
        header=header,
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=numbers_of(select_cols, "select_cols"),
        exclude_cols=numbers_of(exclude_cols, "exclude_cols"),
        num_parallel_reads=num_parallel_reads,
    )
    return _over_files(op, filenames, name)


def JsonLinesDataset(  # noqa: N802
    filenames: Any,
    fields: Sequence[str] | None = None,
    spec: Any = None,
    compression_type: str | None = None,
    buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    name: str | None = None,
) -> Dataset:
    """The values of JSON files with one on each line, usually dicts; empty lines are passed over.

    Every element has the fields of the first line, or `fields` alone, or those of `spec`: a dict of dtypes
    for scalars and `ps.TensorSpec`s for arrays, to which values are converted where nothing is lost. Other
    fields of a line are left out. Lists are arrays; without a spec, numbers are int64 or float64 as
    they are written.

    A line that is not JSON, lacks a field or does not agree with the spec is a `DataError` that names file,
    line and byte, and the next one follows. The other arguments are those of `TextLineDataset`.

    >>> import tempfile
    >>> import penstock as ps
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b'{"id": 1, "tags": ["a", "b"], "x": 2}\\n{"id": 2, "x": 0.5, "tags": []}\\n')
    ...     file.flush()
    ...     spec = {"x": "float32", "tags": ps.TensorSpec((None,), str)}
    ...     for row in ps.JsonLinesDataset(file.name, spec=spec):
    ...         print(row["x"], row["tags"])
    2.0 ['a' 'b']
    0.5 []
    """
    op = JsonLines(
        **names_of(filenames, "JsonLinesDataset"),
        fields=fields_of(fields),
        given_spec=spec_of_user(spec),
        compression_type=compression_type,
        buffer_size=buffer_size,
        num_parallel_reads=num_parallel_reads,
    )
    return _over_files(op, filenames, name)


def WebDataset(  # noqa: N802
    filenames: Any,
    extensions: Sequence[str] | None = None,
    missing: Mapping[str, bytes] | None = None,
    num_parallel_reads: int | None = None,
    name: str | None = None,
) -> Dataset:
    """The elements of tar archives in WebDataset's layout, as dicts of `bytes` by extension.

    Members that follow one another and differ in the extension alone, `dog/1.jpg` and `dog/1.cls`, make
    one element: `{"__key__": "dog/1", "jpg": b"...", "cls": b"..."}`. The extension is all from the first
    dot on, in small letters. `filenames` is a name, a list of names, or a dataset of them; archives may
    be compressed (gzip, or zstd with the extra `zstd`). With `num_parallel_reads`, so many of them are read
    in turn, an element of each.

    All elements have the same extensions: `extensions`, in that order, and other members are passed over;
    or else those of the first element. An element without one of them is a `DataError`, unless `missing`
    has the bytes that stand for it. A damaged archive is a `DataError` that names the file and the byte,
    and reading goes on with the next file.

    >>> import io, tarfile, tempfile
    >>> import penstock as ps
    >>> with tempfile.NamedTemporaryFile(suffix=".tar") as file:
    ...     with tarfile.open(file.name, "w") as archive:
    ...         for member in ("a.jpg", "a.cls", "b.jpg"):
    ...             info = tarfile.TarInfo(member)
    ...             info.size = 3
    ...             archive.addfile(info, io.BytesIO(b"abc"))
    ...     for element in ps.WebDataset(file.name, missing={"cls": b"-1"}):
    ...         print(element)
    {'__key__': 'a', 'jpg': b'abc', 'cls': b'abc'}
    {'__key__': 'b', 'jpg': b'abc', 'cls': b'-1'}
    """
    op = Web(
        **names_of(filenames, "WebDataset"),
        extensions=columns_of(extensions, "WebDataset", "extensions"),
        missing=parts_of(missing, "WebDataset"),
        num_parallel_reads=num_parallel_reads,
    )
    return _over_files(op, filenames, name)


def ImageFolderDataset(  # noqa: N802
    folder: str | os.PathLike[str],
    class_names: Sequence[str] | None = None,
    extensions: Sequence[str] = EXTENSIONS,
    name: str | None = None,
) -> Dataset:
    """Pictures in folders, one folder a class: `folder/dog/1.jpg` is `{"image": bytes, "label": int64}`.

    The picture comes as it is in its file; decode it with `ps.io.decode_image` in a `map`. The label is
    the number of the class among `class_names`, by default the names of all folders, sorted:
    `ps.io.class_names(folder)`. Pictures in folders of a class's folder are of that class. Files whose
    names end in none of `extensions` are passed over, and the report says so. `decode_image` knows no GIF
    and no WebP: decode those with another library, or leave them out by `extensions`.

    The folder is listed when the run begins, not when it is declared, so its cardinality is unknown. Classes
    come one after another: shuffle the whole, which keeps numbers of files and no pictures.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import penstock as ps
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("dog/1.jpg", "cat/1.jpg", "cat/2.png", "cat/notes.txt"):
    ...         (Path(folder) / name).parent.mkdir(exist_ok=True)
    ...         _ = (Path(folder) / name).write_bytes(name.encode())
    ...     for element in ps.ImageFolderDataset(folder):
    ...         print(element["image"], element["label"])
    b'cat/1.jpg' 0
    b'cat/2.png' 0
    b'dog/1.jpg' 1
    """
    op = ImageFolder(
        folder=folder_of(folder, "ImageFolderDataset"),
        class_names=columns_of(class_names, "ImageFolderDataset", "class_names"),
        extensions=endings_of(extensions, "ImageFolderDataset"),
    )
    return Dataset(op.named(name))


def ArrayRecordDataset(filenames: Any, name: str | None = None) -> Dataset:  # noqa: N802
    """The records of ArrayRecord files, as `bytes` (needs the extra `arrayrecord`).

    The files are on this machine, and are read by the library array_record. Records can be read by their
    numbers, so a shuffle after it keeps numbers and no records; a file that was written with
    `group_size:1` is the quickest then. A damaged record is a `DataError`, and reading goes on after it;
    in a shuffle it ends the run. Declaring it opens no file, so its cardinality is unknown.

    >>> import penstock as ps
    >>> ps.ArrayRecordDataset("train.arrayrecord").shuffle(1000).element_spec
    TensorSpec(shape=(), dtype=bytes)
    """
    return Dataset(ArrayRecords(filenames=names_alone(filenames, "ArrayRecordDataset")).named(name))


def ArrowDataset(  # noqa: N802
    filenames: Any,
    columns: Sequence[str] | None = None,
    fill_nulls: Mapping[str, Any] | None = None,
    num_parallel_reads: int | None = None,
    name: str | None = None,
) -> Dataset:
    """The rows of Arrow IPC files, Feather files and streams, each a dict (needs the extra `parquet`).

    The arguments, the types and what is done about nulls are those of `ps.ParquetDataset`. Files of this
    machine are mapped, so a batch that is not compressed may be of any size; one that is compressed is
    unpacked as a whole, within the memory budget. Rows come in order. Declaring it opens no file, so its
    cardinality is unknown.

    >>> import tempfile
    >>> import penstock as ps
    >>> import pyarrow as pa, pyarrow.feather
    >>> table = pa.table({"x": [1, 2], "y": ["a", "b"]})
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     pa.feather.write_feather(table, file.name)
    ...     list(ps.ArrowDataset(file.name))
    [{'x': np.int64(1), 'y': 'a'}, {'x': np.int64(2), 'y': 'b'}]
    """
    op = Arrow(
        **names_of(filenames, "ArrowDataset"),
        columns=columns_of(columns, "ArrowDataset"),
        fill_nulls=fills_of(fill_nulls, "ArrowDataset"),
        num_parallel_reads=num_parallel_reads,
    )
    return _over_files(op, filenames, name)


def _over_files(op: FilesOp, filenames: Any, name: str | None) -> Dataset:
    """A dataset over files, with the options of the dataset of names where there is one."""
    options = filenames._options if isinstance(filenames, Dataset) else None
    return Dataset(op.named(name).read(), options)


def from_tensorflow(dataset: Any, name: str | None = None) -> Dataset:
    """The elements of a `tf.data.Dataset`, for those who come over step by step.

    Each run iterates over it anew. Structure, dtypes, shapes and length are those it has there; strings are
    `bytes`, a `tf.RaggedTensor` is a `ps.Ragged`, sparse tensors are not taken. Where TensorFlow
    fails to make an element, that is a `DataError` in its place. What happens inside of that dataset, such
    as its own shuffle buffer, is not part of the memory budget. Needs the extra `tensorflow`.

    >>> import penstock as ps
    >>> import tensorflow as tf  # doctest: +SKIP
    >>> ds = ps.from_tensorflow(tf.data.Dataset.range(5)).map(lambda x: x * x)  # doctest: +SKIP
    >>> [int(x) for x in ds]  # doctest: +SKIP
    [0, 1, 4, 9, 16]
    """
    return Dataset(FromTensorflow(dataset=dataset).named(name))


def from_ray(dataset: Any, name: str | None = None) -> Dataset:
    """The rows of a `ray.data.Dataset`, each a dict of its columns.

    Each run executes it anew, and takes batches of about a block from the object store, as views where Ray
    gives them. What Ray itself holds there is not part of the memory budget. Ray promises an order only with
    `ray.data.DataContext.get_current().execution_options.preserve_order = True`; a state of a run goes on
    exactly only then. Needs the extra `ray`.

    >>> import penstock as ps
    >>> import ray  # doctest: +SKIP
    >>> ds = ps.from_ray(ray.data.range(5)).map(lambda row: row["id"] * 2)  # doctest: +SKIP
    >>> sorted(int(x) for x in ds)  # doctest: +SKIP
    [0, 2, 4, 6, 8]
    """
    return Dataset(FromRay(dataset=dataset).named(name))
