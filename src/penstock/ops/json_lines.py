"""`JsonLinesDataset`: the lines of JSON files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock.blocks.spec import Spec, TensorSpec
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.graph.running import Context, Running
from penstock.io.formats.json_lines import JsonLinesReader
from penstock.io.formats.json_values import JsonShape
from penstock.io.stores.decompress import open_stream
from penstock.ops.parts.files import FilesOp, RunningFiles
from penstock.ops.parts.signature import signature_of
from penstock.site import user_site

CALL = "JsonLinesDataset"


def fields_of(fields: Any) -> tuple[str, ...] | None:
    """The names of fields that a user gave."""
    if fields is None:
        return None
    names = [fields] if isinstance(fields, str) else list(fields) if isinstance(fields, Iterable) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise ArgumentTypeError(
            f"{CALL}(fields=) at {user_site()}: expected names of fields, got {fields!r}."
        )
    if len(set(names)) < len(names):
        raise ArgumentError(f"{CALL}(fields=) at {user_site()}: expected each name once, got {fields!r}.")
    return tuple(names)


def spec_of_user(spec: Any) -> Spec | None:
    """The spec that a user gave: a nest of `TensorSpec`s, or of dtypes where a leaf is a scalar."""
    if spec is None:
        return None
    return signature_of(_with_specs(spec), f"{CALL}(spec=)")


def _with_specs(nest: Any) -> Any:
    if isinstance(nest, dict):
        return {key: _with_specs(part) for key, part in nest.items()}
    return nest if isinstance(nest, TensorSpec | tuple | list) else TensorSpec((), nest)


@dataclass(frozen=True, eq=False, kw_only=True)
class JsonLines(FilesOp):
    """The values on the lines of all files, of the structure of a spec or of the first line."""

    fields: tuple[str, ...] | None = None
    given_spec: Spec | None = None

    name = CALL
    first_decides = True
    said_as = {"given_spec": "spec"}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fields is not None and self.given_spec is not None:
            raise ArgumentError(
                self.fail("expected fields or a spec, got both. A spec names the fields too.")
            )

    def start(self, context: Context) -> Running:
        # All files have the structure of the first line of the first one.
        return RunningFiles(self, context, partial(self._open, self._shape()))

    def _shape(self) -> JsonShape:
        return JsonShape(self.fields, self.given_spec)

    def open(self, path: str, context: Context) -> JsonLinesReader:
        return self._open(self._shape(), path, context)

    def _open(self, shape: JsonShape, path: str, context: Context) -> JsonLinesReader:
        stream = open_stream(path, self.compression_type, context)
        return JsonLinesReader(stream, context, self.buffer_size, shape)

    def find_spec(self) -> Spec | None:
        return self.given_spec
