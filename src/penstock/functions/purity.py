"""Whether a user's function is pure: it may be called in another order, or once for many rows.

The answer is read from the function's bytecode, and errs on the side of yes. A function is pure if
it writes to nothing but its own variables, and every global or enclosing variable that it reads is
something whose use leaves no trace: NumPy, `math`, Penstock's own functions, constants, arrays that
it only reads, or another pure function.
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import math
import operator
import re
import types
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.blocks.structure import Structure
from penstock.blocks.trace import is_trusted

_HARMLESS = re.compile(
    r"LOAD_(FAST|CONST|SMALL_INT|CLOSURE|ASSERTION_ERROR|COMMON_CONSTANT|SPECIAL|METHOD|ATTR)|STORE_FAST"
    r"|DELETE_FAST|BINARY_|UNARY_|COMPARE_OP|CONTAINS_OP|IS_OP|BUILD_(?!CLASS|TEMPLATE|INTERP)|CALL(?!_INT)"
    r"|PRECALL|KW_NAMES|PUSH_|POP_|JUMP_|RETURN_|FOR_ITER|GET_(ITER|LEN)|END_(FOR|SEND)|RESUME|MAKE_"
    r"|COPY|SWAP|CACHE|NOP|EXTENDED_ARG|LIST_|SET_(ADD|UPDATE|FUNCTION_ATTRIBUTE)|MAP_ADD|DICT_|FORMAT_"
    r"|CONVERT_VALUE|TO_BOOL|NOT_TAKEN|UNPACK_|RERAISE|RAISE_VARARGS|CHECK_EXC_MATCH|WITH_EXCEPT_START"
    r"|BEFORE_WITH|YIELD_VALUE|STORE_SUBSCR|DELETE_SUBSCR|STORE_SLICE|LOAD_GLOBAL|LOAD_DEREF|STORE_DEREF"
    r"|LOAD_FROM_DICT_OR_DEREF|MATCH_(SEQUENCE|MAPPING|KEYS)"
)
"""Instructions that write to nothing but the function's own variables, from Python 3.11 on."""
_INTRINSICS = {
    "INTRINSIC_STOPITERATION_ERROR",
    "INTRINSIC_UNARY_POSITIVE",
    "INTRINSIC_LIST_TO_TUPLE",
}

_BUILTINS = """
abs all any bool bytes complex dict divmod enumerate filter float frozenset int len list map
max min pow range reversed round set slice sorted str sum tuple zip Ellipsis NotImplemented
"""
_PURE_BUILTINS = {id(getattr(builtins, name)) for name in _BUILTINS.split()}

_NUMPY_DENIED = frozenset(
    """
    load loadtxt genfromtxt save savez savez_compressed savetxt fromfile fromregex memmap
    frombuffer copyto put place putmask put_along_axis fill_diagonal nditer nested_iters
    seterr seterrcall setbufsize info set_printoptions printoptions show_config show_runtime
    empty empty_like ndarray vectorize frompyfunc fromfunction apply_along_axis
    apply_over_axes piecewise fromiter from_dlpack test getbufsize geterr geterrcall
    get_include get_printoptions shares_memory may_share_memory
    """.split()  # noqa: SIM905
)
_OPERATORS_DENIED = frozenset(
    """
    setitem delitem is_ is_not call iadd iand iconcat ifloordiv ilshift imatmul imod imul ior ipow
    irshift isub itruediv ixor
    """.split()  # noqa: SIM905
)
_NUMPY_MODULES = {np, np.linalg, np.fft}

_CHANGING = frozenset(
    """
    sort fill put partition itemset resize setflags setfield byteswap at tofile dump dumps ctypes
    data base flat view getfield
    """.split()  # noqa: SIM905
)
"""Attributes by which an array may be changed, or one call told from another."""
_CHANGING_TABLES = frozenset({"clear", "pop", "popitem", "setdefault", "update"})
"""Attributes by which a dict may be changed."""
_CONSTANTS = (
    *(np.generic, np.dtype, int, float, complex, str, bytes, bool, slice, range),
    *(type(None), type(Ellipsis)),
)


@dataclass
class Verdict:
    """Whether a function is pure, and if not, what it does, in words."""

    why_not: str = ""
    compares_identity: bool = False
    """Whether it asks what something `is`, which a stand-in for an object cannot answer."""
    reads: list[tuple[Any, str, Any]] = field(default_factory=list)
    """The global variables that the verdict rests on, with their values."""

    @property
    def pure(self) -> bool:
        """Whether it is."""
        return not self.why_not

    def holds(self) -> bool:
        """Whether the variables that the verdict rests on still have the same values."""
        return all(_look_up(where, name) is value for where, name, value in self.reads)


_verdicts: weakref.WeakKeyDictionary[Any, Verdict] = weakref.WeakKeyDictionary()


def purity(function: Any) -> Verdict:
    """Whether `function` has no side effects that its bytecode could have; remembered."""
    try:
        known = _verdicts.get(function)
    except TypeError:
        return _Reader().judge(function)  # something that cannot be remembered, as NumPy's ufuncs
    if known is None or not known.holds():
        known = _Reader().judge(function)
        _verdicts[function] = known
    return known


def plain_namedtuples(structure: Structure) -> bool:
    """Whether no named tuple of the structure has code of its own."""
    if structure.kind not in (None, dict, tuple) and not _is_plain_namedtuple(structure.kind):
        return False
    return all(plain_namedtuples(child) for child in structure.children)


class _Impure(Exception):  # noqa: N818
    """Raised where the reader finds something that it cannot answer for."""


class _Reader:
    """Reads one function, and those that it calls."""

    def __init__(self) -> None:
        self._verdict = Verdict()
        self._seen: set[int] = set()
        self._arrays = ""
        self._changes = ""
        self._tables = ""
        self._table_changes = ""

    def judge(self, function: Any) -> Verdict:
        try:
            self._value(function, "the function")
            if self._arrays and self._changes:
                raise _Impure(f"{self._changes}, and reads the array {self._arrays}")
            if self._tables and (self._changes or self._table_changes):
                raise _Impure(f"{self._changes or self._table_changes}, and reads the dict {self._tables}")
        except _Impure as found:
            self._verdict.why_not = str(found)
        return self._verdict

    def _value(self, value: Any, name: str) -> None:
        """Answer for a value that the function reads."""
        if isinstance(value, np.ndarray):
            if value.dtype == object:
                raise _Impure(f"reads {name}, an array of objects")
            self._arrays = name
        elif isinstance(value, types.FunctionType) and not is_trusted(value) and not _is_numpy(value):
            self._function(value)
        elif isinstance(value, functools.partial):
            for part in (value.func, *value.args, *value.keywords.values()):
                self._value(part, name)
        elif isinstance(value, tuple | frozenset) and type(value) in (tuple, frozenset):
            for part in value:
                self._value(part, name)
        elif isinstance(value, _CONSTANTS) and _is_plain_instance(value):
            return
        elif is_trusted(type(value)):
            return  # a declaration of Penstock, frozen
        elif _is_table_of_declarations(value):
            self._tables = name
        elif not _is_harmless(value):
            raise _Impure(f"uses {name}, of which nothing is known")

    def _function(self, function: types.FunctionType) -> None:
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        code = function.__code__
        if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_GENERATOR):
            raise _Impure(f"{code.co_name} is a generator or a coroutine")
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        for value in defaults:
            self._value(value, f"a default of {code.co_name}")
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        self._code(code, function, cells)

    def _code(
        self, code: types.CodeType, function: types.FunctionType, cells: dict[str, types.CellType]
    ) -> None:
        instructions = [
            one for one in dis.get_instructions(code) if one.opname not in ("CACHE", "EXTENDED_ARG")
        ]
        of_module = 0  # up to there, attributes are those of modules, which name what is used
        for i, one in enumerate(instructions):
            self._instruction(one, code, changes=i >= of_module)
            if one.opname == "PUSH_EXC_INFO" and instructions[i + 1].opname != "WITH_EXCEPT_START":
                # A handler is for the one row that failed: over a block it would answer for all.
                raise _Impure(f"{code.co_name} handles exceptions")
            if one.opname == "LOAD_GLOBAL":
                read = self._read(function.__globals__, one.argval, _attributes(instructions, i + 1))
                of_module = i + 1 + read
            elif one.opname == "LOAD_DEREF" and one.argval in cells:
                read = self._read(cells[one.argval], one.argval, _attributes(instructions, i + 1))
                of_module = i + 1 + read
        for constant in code.co_consts:
            # From Python 3.14 on, annotations are code that nothing calls here.
            if isinstance(constant, types.CodeType) and constant.co_name != "__annotate__":
                # What the inner function shares with this one is this one's own, or in `cells`.
                inner = {name: cells[name] for name in constant.co_freevars if name in cells}
                self._code(constant, function, inner)

    def _read(self, where: Any, name: str, attributes: Iterator[str]) -> int:
        """Answer for a variable, and for what is taken out of it if it is a module: so many attributes."""
        taken = 0
        value = _look_up(where, name)
        if value is _MISSING:
            raise _Impure(f"reads {name}, which is not set")
        self._verdict.reads.append((where, name, value))
        while isinstance(value, types.ModuleType):
            attribute = next(attributes, None)
            if attribute is None:
                raise _Impure(f"uses the module {name} as a value")
            value = self._of_module(value, attribute, name)
            name = f"{name}.{attribute}"
            taken += 1
        self._value(value, name)
        return taken

    def _of_module(self, module: types.ModuleType, attribute: str, name: str) -> Any:
        if module in _NUMPY_MODULES:
            if attribute in _NUMPY_DENIED:
                raise _Impure(f"uses {name}.{attribute}")
            value = getattr(module, attribute, None)
            if isinstance(value, types.ModuleType) and value not in _NUMPY_MODULES:
                raise _Impure(f"uses {name}.{attribute}")
            return value
        if module in (math, operator) or module.__name__.split(".")[0] == "penstock":
            return getattr(module, attribute, None)
        # A module of the user's, say: what it has is as good as a global variable.
        if type(module) is not types.ModuleType or attribute not in vars(module):
            raise _Impure(f"uses the module {module.__name__}")
        value = vars(module)[attribute]
        self._verdict.reads.append((vars(module), attribute, value))
        return value

    def _instruction(self, one: dis.Instruction, code: types.CodeType, *, changes: bool) -> None:
        name = one.opname
        if name == "CALL_INTRINSIC_1":
            if one.argrepr not in _INTRINSICS:
                raise _Impure(f"{code.co_name} does {one.argrepr}")
        elif not _HARMLESS.match(name):
            raise _Impure(f"{code.co_name} {_does(name)} {one.argval}".rstrip())
        if name == "STORE_DEREF" and one.argval not in code.co_cellvars:
            raise _Impure(f"{code.co_name} sets {one.argval} of the function around it")
        if name == "IS_OP" or name.endswith("_NONE"):
            self._verdict.compares_identity = True
        if name in ("LOAD_ATTR", "LOAD_METHOD"):
            self._attribute(one.argval, code, changes=changes)
        if name in ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"):
            self._changes = f"{code.co_name} sets items"
        if name == "BINARY_OP" and one.argrepr.endswith("="):
            self._changes = f"{code.co_name} does {one.argrepr}"
        if name in ("LOAD_CONST", "KW_NAMES") and one.arg is not None:
            # The names of keywords lie among the constants.
            keywords = code.co_consts[one.arg]
            if isinstance(keywords, tuple) and "out" in keywords:
                self._changes = f"{code.co_name} uses out="

    def _attribute(self, name: str, code: types.CodeType, *, changes: bool) -> None:
        if name.startswith("__") or name in ("f_globals", "gi_frame", "cr_frame"):
            raise _Impure(f"{code.co_name} uses .{name}")
        if changes and name in _CHANGING:
            self._changes = f"{code.co_name} uses .{name}"
        if changes and name in _CHANGING_TABLES:
            self._table_changes = f"{code.co_name} uses .{name}"


def _attributes(instructions: list[dis.Instruction], start: int) -> Iterator[str]:
    """The names of the attributes that are looked up one after another, from there on."""
    for one in instructions[start:]:
        if one.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
            return
        yield one.argval


_MISSING = object()


def _look_up(where: Any, name: str) -> Any:
    if isinstance(where, types.CellType):
        try:
            return where.cell_contents
        except ValueError:
            return _MISSING
    if name in where:
        return where[name]
    return getattr(builtins, name, _MISSING)


def _is_numpy(value: Any) -> bool:
    module = getattr(value, "__module__", None) or ""
    known = module == "numpy" or module.startswith(("numpy.linalg", "numpy.fft", "numpy.lib"))
    return (known or module.startswith("numpy._core")) and value.__name__ not in _NUMPY_DENIED


def _is_harmless(value: Any) -> bool:
    """Whether something that can be called leaves no trace."""
    if id(value) in _PURE_BUILTINS or isinstance(value, np.ufunc) or is_trusted(value):
        return True
    if isinstance(value, type):
        if issubclass(value, Exception) and value.__module__ == "builtins":
            return True
        if issubclass(value, np.generic) and value.__module__ == "numpy":
            return True
        return value is np.errstate or value is np.dtype or _is_plain_namedtuple(value)
    if isinstance(value, types.BuiltinFunctionType) and value.__module__ in ("math", "_operator"):
        return value.__name__ not in _OPERATORS_DENIED
    if isinstance(value, types.BuiltinFunctionType | types.FunctionType):
        return _is_numpy(value)
    # NumPy's functions in C are wrapped in a type of its own.
    return type(value).__name__ == "_ArrayFunctionDispatcher" and _is_numpy(value)


def _is_table_of_declarations(value: Any) -> bool:
    """Whether it is a dict of declarations of Penstock, as the features that a parser is asked for."""
    return type(value) is dict and all(
        type(name) is str and is_trusted(type(part)) for name, part in value.items()
    )


def _is_plain_instance(value: Any) -> bool:
    return type(value).__module__.split(".")[0] in ("builtins", "numpy")


def _is_plain_namedtuple(kind: Any) -> bool:
    """Whether a class is a named tuple as `namedtuple` and `NamedTuple` make them, and no more."""
    if not (isinstance(kind, type) and kind.__bases__ == (tuple,) and hasattr(kind, "_fields")):
        return False
    made = {"_fields", "_field_defaults", "_make", "_replace", "_asdict", *kind._fields}
    own = {name for name in vars(kind) if not (name.startswith("__") and name.endswith("__"))}
    new = getattr(vars(kind).get("__new__"), "__func__", None)
    generated = getattr(new, "__globals__", {}).get("__name__", "").startswith("namedtuple_")
    special = {"__getattribute__", "__getattr__", "__init__", "__getitem__", "__iter__", "__len__"}
    return own <= made and generated and not special & vars(kind).keys()


def _does(opname: str) -> str:
    """What an instruction does, in words."""
    if opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
        return "sets the global"
    if opname in ("STORE_ATTR", "DELETE_ATTR"):
        return "sets the attribute"
    return f"does {opname}"
