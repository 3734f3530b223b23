"""Whose code it is, and which loop it is in."""

from __future__ import annotations

import ast
import linecache
import site
import sys
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType

HERE = tuple({f"{Path(__file__).parents[1]}/", f"{Path(__file__).resolve().parents[1]}/"})
"""Penstock itself: not the user's code."""
EVENTS = "/asyncio/base_events.py"
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
OPTIMIZED = 1
"""The flag of code whose local variables are not a dict of their own."""


@dataclass(frozen=True)
class Place:
    """A line of the user's code."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}"


@dataclass(frozen=True)
class Loop:
    """A `for` or `while` of the user's code, and the variables that it counts with."""

    file: str
    line: int
    end: int
    code_line: int
    """The first line of the function that it is in; 0 for a module."""
    variables: tuple[str, ...]


class Places:
    """What is known of source files: read once, kept for the time of the watch."""

    def __init__(self, script: str | None = None, floor: FrameType | None = None) -> None:
        paths = sysconfig.get_paths()
        libraries = [paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
        libraries += [*site.getsitepackages(), site.getusersitepackages()]
        self._libraries = tuple({f"{one}/" for path in libraries for one in (path, Path(path).resolve())})
        self._known: dict[str, bool] = {}
        self._loops: dict[str, list[Loop]] = {}
        self._heads: dict[str, dict[tuple[int, int], Loop]] = {}
        self._trees: dict[str, ast.Module | None] = {}
        self.floor = floor
        """The frame that the watch begins in; those below belong to another process."""
        if script:
            self._known[script] = True

    def is_user(self, file: str) -> bool:
        """Whether a file is the user's: no library's, not Python's, not Penstock's."""
        known = self._known.get(file)
        if known is None:
            known = self._known[file] = self._find(file)
        return known

    def _find(self, file: str) -> bool:
        if file.startswith("<"):
            return file.startswith(("<ipython", "<doctest", "<stdin"))
        if "site-packages" in file or "dist-packages" in file or "__autograph_generated" in file:
            return False
        if file.startswith(self._libraries + HERE):
            return False
        full = str(Path(file).resolve())
        if full.startswith(self._libraries + HERE):
            return False
        return bool(linecache.getlines(file))  # a name that was made up for code has no lines

    def stack(self, frame: FrameType | None) -> list[FrameType]:
        """The user's frames below `frame`, the outermost first."""
        found: list[FrameType] = []
        while frame is not None and frame is not self.floor:
            if self.is_user(frame.f_code.co_filename):
                found.append(frame)
            frame = frame.f_back
        return found[::-1]

    def innermost(self, frame: FrameType | None) -> Place | None:
        """The user's line that is at work in `frame` or below it."""
        while frame is not None and frame is not self.floor:
            if self.is_user(frame.f_code.co_filename):
                return Place(frame.f_code.co_filename, frame.f_lineno or 0)
            frame = frame.f_back
        return None

    def awaits(self, frame: FrameType | None) -> bool:
        """Whether an event loop is at work: the user's coroutines are not below `frame`, but come back."""
        while frame is not None and frame is not self.floor:
            if self.is_user(frame.f_code.co_filename):
                return False
            if frame.f_code.co_filename.endswith(EVENTS):
                return True
            frame = frame.f_back
        return False

    def tree(self, file: str) -> ast.Module | None:
        """The syntax of a file, or None where there is no source."""
        if file not in self._trees:
            try:
                lines = linecache.getlines(file)
                self._trees[file] = ast.parse("".join(lines)) if lines else None
            except (OSError, SyntaxError, ValueError):
                self._trees[file] = None
        return self._trees[file]

    def loops(self, frame: FrameType) -> list[Loop]:
        """The loops that `frame` is in, the outermost first."""
        code, line = frame.f_code, frame.f_lineno or 0  # between two lines there is none
        at = code_line(code)
        return [
            loop
            for loop in self._of(code.co_filename)
            if loop.code_line == at and loop.line <= line <= loop.end
        ]

    def headed(self, frame: FrameType) -> Loop | None:
        """The loop that begins at the line that `frame` is at."""
        code = frame.f_code
        heads = self._heads.get(code.co_filename)
        if heads is None:
            loops = self._of(code.co_filename)
            heads = self._heads[code.co_filename] = {(loop.code_line, loop.line): loop for loop in loops}
        return heads.get((code_line(code), frame.f_lineno or 0))

    def _of(self, file: str) -> list[Loop]:
        if file not in self._loops:
            tree = self.tree(file)
            self._loops[file] = sorted(_find_loops(tree, file), key=lambda loop: loop.line) if tree else []
        return self._loops[file]


def code_line(code: CodeType) -> int:
    """Where a function starts; 0 for a module."""
    return 0 if code.co_name == "<module>" else code.co_firstlineno


@dataclass
class _Search:
    file: str
    found: list[Loop] = field(default_factory=list)

    def visit(self, node: ast.AST, code: int) -> None:
        names: tuple[str, ...]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            code = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        elif isinstance(node, ast.Lambda):
            code = node.lineno
        elif isinstance(node, COMPREHENSIONS):
            inlined = sys.version_info >= (3, 12) and not isinstance(node, ast.GeneratorExp)
            code = code if inlined else node.lineno
            names = tuple(
                n.id for one in node.generators for n in ast.walk(one.target) if isinstance(n, ast.Name)
            )
            self.found.append(Loop(self.file, node.lineno, node.end_lineno or node.lineno, code, names))
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            if isinstance(node, ast.While):
                names = tuple(
                    n.target.id
                    for n in ast.walk(node)
                    if isinstance(n, ast.AugAssign)
                    and isinstance(n.op, ast.Add)
                    and isinstance(n.target, ast.Name)
                )
            else:
                inner = {
                    name for child in node.body for name in _targets(child)
                }  # `for _`, and in it `for _`
                names = tuple(name for name in _names(node.target) if name not in inner)
            self.found.append(Loop(self.file, node.lineno, node.end_lineno or node.lineno, code, names))
        for child in ast.iter_child_nodes(node):
            self.visit(child, code)


def _names(target: ast.AST) -> list[str]:
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]


def _targets(node: ast.AST) -> list[str]:
    """The variables of the loops in a statement, but for those of functions that are in it."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
        return []
    own = _names(node.target) if isinstance(node, ast.For | ast.AsyncFor) else []
    return [*own, *(name for child in ast.iter_child_nodes(node) for name in _targets(child))]


def _find_loops(tree: ast.Module, file: str) -> list[Loop]:
    search = _Search(file)
    search.visit(tree, 0)
    return search.found


def names_of(frame: FrameType) -> dict[str, object]:
    """The variables of a frame, without keeping any of them alive longer than the frame does."""
    seen = frame.f_locals
    if frame.f_code.co_flags & OPTIMIZED and sys.version_info < (3, 13) and sys.gettrace() is None:
        copy = dict(seen)
        seen.clear()  # Python keeps this dict with the frame; its values would live on in it
        return copy
    return dict(seen)
