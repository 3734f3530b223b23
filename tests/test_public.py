"""The public names: one sorted list, each explained by a sentence and an example that runs."""

from __future__ import annotations

import dataclasses
import inspect
import runpy
import types
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import penstock as ps

EXPECTED = [
    "AUTOTUNE",
    "ArrayRecordDataset",
    "ArrowDataset",
    "CsvDataset",
    "Dataset",
    "FixedLengthRecordDataset",
    "INFINITE",
    "ImageFolderDataset",
    "JsonLinesDataset",
    "NpyDataset",
    "Options",
    "ParquetDataset",
    "Ragged",
    "Reducer",
    "TFRecordDataset",
    "TensorSpec",
    "TextLineDataset",
    "UNKNOWN",
    "WebDataset",
    "assert_cardinality",
    "errors",
    "group_by_reducer",
    "image",
    "io",
    "pad_to_cardinality",
    "random",
]
"""What the README promises; more may be there."""

METHODS = [
    "apply",
    "as_numpy_iterator",
    "batch",
    "bucket_by_sequence_length",
    "cache",
    "cardinality",
    "choose_from_datasets",
    "concatenate",
    "counter",
    "enumerate",
    "explain",
    "filter",
    "flat_map",
    "from_arrow",
    "from_generator",
    "from_sql",
    "from_tensor_slices",
    "from_tensors",
    "get_single_element",
    "group_by_window",
    "ignore_errors",
    "interleave",
    "iterate",
    "list_files",
    "load",
    "map",
    "on_error",
    "options",
    "padded_batch",
    "parse_example",
    "prefetch",
    "ragged_batch",
    "random",
    "range",
    "rebatch",
    "reduce",
    "rejection_resample",
    "repeat",
    "sample_from_datasets",
    "save",
    "scan",
    "shard",
    "shuffle",
    "skip",
    "snapshot",
    "take",
    "take_while",
    "unbatch",
    "unique",
    "window",
    "with_options",
    "write_tfrecord",
    "zip",
]

IMAGE = [
    "convert_image_dtype",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "resize",
    "rot90",
]

IO = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_and_crop_jpeg",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_raw",
    "extract_jpeg_shape",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
]


def public(owner: Any) -> Iterator[tuple[str, Any]]:
    """The names of a module or class that do not start with an underscore, as written there."""
    names = getattr(owner, "__all__", None) or [name for name in vars(owner) if name[0] != "_"]
    for name in names:
        if isinstance(owner, types.ModuleType):
            getattr(owner, name)  # some are loaded when they are first asked for
        yield name, inspect.getattr_static(owner, name)


def documented() -> dict[str, Any]:
    """Everything that a user can call or make, by its full name."""
    found: dict[str, Any] = {}
    for name, thing in public(ps):
        if isinstance(thing, types.ModuleType):
            if thing is ps.errors:
                continue
            for part, inner in public(thing):
                if inspect.isfunction(inner) or inspect.isclass(inner):
                    found[f"{name}.{part}"] = inner
                if inspect.isclass(inner) and not dataclasses.is_dataclass(inner):  # what users only declare
                    found |= methods(f"{name}.{part}", inner)
        elif inspect.isfunction(thing) or inspect.isclass(thing):
            found[name] = thing
    return found | methods("Dataset", ps.Dataset)


def methods(name: str, owner: type) -> dict[str, Any]:
    """The public methods and properties of a class, by their full names."""
    kinds = (property, staticmethod, classmethod, types.FunctionType)
    return {f"{name}.{part}": thing for part, thing in public(owner) if isinstance(thing, kinds)}


def test_given_the_public_list_then_it_is_sorted_and_complete() -> None:
    assert sorted(ps.__all__) == ps.__all__
    assert set(EXPECTED) - set(ps.__all__) == set()
    for room in (ps.image, ps.io, ps.random):
        assert sorted(room.__all__) == room.__all__


def test_given_the_public_list_then_every_name_is_there_and_no_other() -> None:
    rooms = {path.stem for path in Path(ps.__file__).parent.iterdir()}
    there = {name for name in vars(ps) if name[0] not in "_@"}  # pytest puts names with @ there
    assert there - rooms - set(ps.__all__) == set()


@pytest.mark.parametrize("name", METHODS)
def test_given_a_word_of_tf_data_then_a_dataset_has_it(name: str) -> None:
    assert callable(inspect.getattr_static(ps.Dataset, name).__get__(None, ps.Dataset))


def test_given_a_dataset_then_its_spec_is_an_attribute_and_its_length_is_len() -> None:
    ds = ps.Dataset.range(3)
    assert isinstance(inspect.getattr_static(ps.Dataset, "element_spec"), property)
    assert ds.element_spec == ps.TensorSpec((), "int64")
    assert len(ds) == 3


@pytest.mark.parametrize("name", IMAGE)
def test_given_a_function_of_tf_image_then_ps_image_has_it(name: str) -> None:
    assert callable(getattr(ps.image, name))


@pytest.mark.parametrize("name", IO)
def test_given_a_word_of_tf_io_then_ps_io_has_it(name: str) -> None:
    assert name in ps.io.__all__
    assert callable(getattr(ps.io, name))


@pytest.mark.parametrize("name", sorted(documented()))
def test_given_a_public_name_then_it_has_a_sentence_and_an_example(name: str) -> None:
    text = inspect.getdoc(documented()[name]) or ""
    first = text.partition("\n\n")[0].strip()
    assert first.endswith((".", ":")), f"{name}: the docstring starts with one sentence: {first!r}"
    assert ">>> " in text, f"{name}: the docstring has a doctest"


@pytest.mark.parametrize("name", [name for name, thing in public(ps.errors) if inspect.isclass(thing)])
def test_given_an_error_then_it_is_explained_and_drawn_in_the_tree(name: str) -> None:
    kind = getattr(ps.errors, name)
    assert inspect.getdoc(kind)
    assert issubclass(kind, ps.errors.PenstockError | Warning)
    assert name in (ps.errors.__doc__ or "")


def test_given_the_package_then_it_tells_its_version() -> None:
    assert ps.__version__ == metadata.version("penstock")
    with pytest.raises(AttributeError, match="no_such"):
        _ = ps.no_such


def test_given_another_working_folder_then_lines_are_named_as_seen_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "below" / "script.py"
    script.parent.mkdir()
    script.write_text("import penstock as ps\n\nds = ps.Dataset.range(3)\n")
    sites = []
    for folder in (tmp_path, script.parent):
        monkeypatch.chdir(folder)
        sites.append(runpy.run_path(str(script))["ds"].op.site)
    assert sites == [f"{Path('below', 'script.py')}:3", "script.py:3"]
