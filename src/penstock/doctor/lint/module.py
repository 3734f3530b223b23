"""A parsed file, and what a name in it means, where a value comes from, what stands around it."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from functools import cached_property

from penstock.doctor.lint.flow import Definition, Flow, Function
from penstock.doctor.lint.spelling import spelled

Frame = Mapping[Definition, "Origin"]
Origin = tuple[ast.expr, "Frame"]
"""An expression, and what the parameters in it stand for."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
NOTHING: Frame = {}
DEPTH = 24
"""How many steps a value is followed back before it counts as unknown."""


class Module:
    """A file as the rules see it.

    >>> module = Module("import tensorflow as tf\\nmake = tf.function\\nf = make(g)")
    >>> module.name(module.calls[0].func)
    'tf.function'
    """

    def __init__(self, text: str, path: str = "<text>") -> None:
        self.text = text
        self.path = path
        self.tree = ast.parse(text, filename=path)
        self.flow = Flow(self.tree, "global " in text or "nonlocal " in text)
        self.parents: dict[ast.AST, ast.AST] = {}
        self.nodes: list[ast.AST] = []
        self._names: dict[ast.AST, str] = {}
        self._attributes: dict[ast.ClassDef, dict[str, list[ast.expr | None]]] = {}
        waiting: list[ast.AST] = [self.tree]
        while waiting:
            node = waiting.pop()
            self.nodes.append(node)
            children = list(ast.iter_child_nodes(node))
            for child in children:
                self.parents[child] = node
            waiting.extend(reversed(children))

    @cached_property
    def calls(self) -> list[ast.Call]:
        """Every call, in the order of the source."""
        return [node for node in self.nodes if isinstance(node, ast.Call)]

    @cached_property
    def imported(self) -> frozenset[str]:
        """The packages that the file imports, by their first name."""
        found: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                found.add(node.module.split(".")[0])
        return frozenset(found)

    # What a name means

    def definitions(self, name: ast.Name) -> frozenset[Definition]:
        """The assignments that reach a name; none for a builtin."""
        return self.flow.reaching.get(name, frozenset())

    def name(self, node: ast.AST) -> str:
        """The full name of what an expression means, in its one spelling, or "" where that is not certain."""
        found = self._names.get(node)
        if found is None:
            found = self._names[node] = spelled(self._name(node, DEPTH))
        return found

    def _name(self, node: ast.AST, depth: int) -> str:
        if depth <= 0:
            return ""
        if isinstance(node, ast.Attribute):
            base = self._name(node.value, depth - 1)
            return f"{base}.{node.attr}" if base else ""
        if not isinstance(node, ast.Name):
            return ""
        found = self.definitions(node)
        if not found:
            return f"builtins.{node.id}" if node.id in vars(builtins) else ""
        meanings = {self._meaning(one, depth - 1) for one in found} - {"None"}
        return meanings.pop() if len(meanings) == 1 else ""

    def _meaning(self, found: Definition, depth: int) -> str:
        if found.kind == "import":
            return "" if found.target.startswith(".") else found.target
        if found.kind == "assign" and found.value is not None:
            if isinstance(found.value, ast.Constant) and found.value.value is None:
                return "None"  # `tf = None` where the import failed
            return self._name(found.value, depth)
        return ""

    def called(self, node: ast.AST) -> str:
        """The full name of what is called; "" if this is no call or it is not certain."""
        return self.name(node.func) if isinstance(node, ast.Call) else ""

    def function(self, node: ast.AST) -> Function | None:
        """The function of this file that an expression means, if that is certain."""
        if isinstance(node, ast.Lambda):
            return node
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in {"self", "cls"} and (owner := self.owner(node)):
                found = self.flow.scopes[owner].definitions.get(node.attr, [])
                if len(found) == 1 and isinstance(found[0].node, ast.FunctionDef):
                    return found[0].node
            return None
        if not isinstance(node, ast.Name):
            return None
        found_here = self.definitions(node)
        if len(found_here) != 1:
            return None
        (one,) = found_here
        if isinstance(one.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return one.node
        if one.kind == "assign" and isinstance(one.value, ast.Lambda):
            return one.value
        return None

    def local_class(self, node: ast.AST) -> ast.ClassDef | None:
        """The class of this file that an expression means, if that is certain."""
        if isinstance(node, ast.Name) and len(found := self.definitions(node)) == 1:
            (one,) = found
            return one.node if isinstance(one.node, ast.ClassDef) else None
        return None

    # Where a value comes from

    def origins(self, node: ast.expr, frame: Frame = NOTHING, depth: int = DEPTH) -> list[Origin]:
        """The expressions that one may stand for, followed through names and functions of this file.

        What cannot be followed further is there as it is: a name of a parameter, an attribute.
        """
        if depth <= 0:
            return [(node, frame)]
        if isinstance(node, ast.IfExp):
            both = [self.origins(part, frame, depth - 1) for part in (node.body, node.orelse)]
            return [*both[0], *both[1]]
        if isinstance(node, (ast.NamedExpr, ast.Await)):
            return self.origins(node.value, frame, depth - 1)
        if isinstance(node, ast.Call):
            return self._result(node, frame, depth)
        if isinstance(node, ast.Attribute) and (value := self._attribute(node)) is not None:
            return self.origins(value, NOTHING, depth - 4)
        if not isinstance(node, ast.Name):
            return [(node, frame)]
        found: list[Origin] = []
        for one in sorted(self.definitions(node), key=_position):  # the same order in every run
            if one in frame:
                value, outer = frame[one]
                found += self.origins(value, outer, depth - 1)
            elif one.kind == "assign" and one.value is not None:
                found += self.origins(one.value, frame, depth - 1)
            elif one.kind == "unpack" and one.value is not None and one.part is not None:
                found += self._parts(one.value, one.part, frame, depth - 1) or [(node, frame)]
            elif one.kind == "with" and isinstance(one.value, ast.Call):
                found.append((one.value, frame))
            else:
                found.append((node, frame))
        return found[:16] or [(node, frame)]

    def _attribute(self, node: ast.Attribute) -> ast.expr | None:
        """What `self.name` was set to, if the class sets it in one place only."""
        if not isinstance(node.value, ast.Name) or node.value.id != "self":
            return None
        owner = self.owner(node)
        if owner is None:
            return None
        if owner not in self._attributes:
            self._attributes[owner] = self._set(owner)
        values = self._attributes[owner].get(node.attr, [])
        return values[0] if len(values) == 1 else None

    def _set(self, owner: ast.ClassDef) -> dict[str, list[ast.expr | None]]:
        """What a class sets its attributes to; None for what is no plain assignment."""
        found: dict[str, list[ast.expr | None]] = {}
        for node in ast.walk(owner):
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                above = self.parents[node]
                plain = isinstance(above, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Name)
                value = above.value if plain and isinstance(above, (ast.Assign, ast.AnnAssign)) else None
                if isinstance(value, ast.Constant) and value.value is None:
                    continue  # set later
                found.setdefault(node.attr, []).append(value)
        return found

    def _parts(self, value: ast.expr, part: int, frame: Frame, depth: int) -> list[Origin]:
        """Where `a` in `a, b = f()` comes from, if `f` returns tuples that can be seen."""
        found: list[Origin] = []
        for one, inner in self.origins(value, frame, depth - 1):
            if not isinstance(one, (ast.Tuple, ast.List)) or part >= len(one.elts):
                return []
            found += self.origins(one.elts[part], inner, depth - 1)
        return found

    def _result(self, node: ast.Call, frame: Frame, depth: int) -> list[Origin]:
        made = self.function(node.func)
        if made is None or isinstance(made, ast.AsyncFunctionDef) or depth < DEPTH - 16:
            return [(node, frame)]
        if isinstance(made, ast.FunctionDef) and (made.decorator_list or self.yields(made)):
            return [(node, frame)]
        inner = self.bound(made, node, frame)
        returned = self.returns(made)
        if inner is None or not returned:
            return [(node, frame)]
        found: list[Origin] = []
        for value in returned:
            found += self.origins(value, inner, depth - 4)
        return found[:16]

    def bound(self, made: Function, call: ast.Call, frame: Frame) -> Frame | None:
        """What the parameters of a function stand for in a call; None if that cannot be said."""
        if any(isinstance(one, ast.Starred) for one in call.args) or any(
            w.arg is None for w in call.keywords
        ):
            return None
        names = [*made.args.posonlyargs, *made.args.args]
        if isinstance(call.func, ast.Attribute) and names and names[0].arg in {"self", "cls"}:
            names = names[1:]
        given: dict[str, ast.expr] = {one.arg: value for one, value in zip(names, call.args, strict=False)}
        given.update({word.arg: word.value for word in call.keywords if word.arg})
        scope = self.flow.scopes[made]
        inner = dict(frame)
        for name, value in given.items():
            for one in scope.definitions.get(name, []):
                if one.kind == "parameter":
                    inner[one] = (value, frame)
        return inner

    def returns(self, made: Function) -> list[ast.expr]:
        """What a function returns."""
        if isinstance(made, ast.Lambda):
            return [made.body]
        return [node.value for node in self.inside(made) if isinstance(node, ast.Return) and node.value]

    def yields(self, made: Function) -> bool:
        """Whether a function is a generator."""
        return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in self.inside(made))

    # Where a thing stands

    def inside(self, node: ast.AST) -> Iterator[ast.AST]:
        """All nodes of a function, a loop or a block, without those of functions and classes made in it."""
        waiting = list(ast.iter_child_nodes(node))
        while waiting:
            one = waiting.pop(0)
            yield one
            if not isinstance(one, (*FUNCTIONS, ast.ClassDef)):
                waiting[:0] = ast.iter_child_nodes(one)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, from the nearest on."""
        while (above := self.parents.get(node)) is not None:
            yield above
            node = above

    def maker(self, node: ast.AST) -> Function | ast.Module:
        """The function, or else the module, that a node is in."""
        for above in self.ancestors(node):
            if isinstance(above, FUNCTIONS):
                return above
        return self.tree

    def owner(self, node: ast.AST) -> ast.ClassDef | None:
        """The class whose method a node is in."""
        for above in self.ancestors(node):
            if isinstance(above, ast.ClassDef):
                return above
        return None

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that a node is part of."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def within(self, node: ast.AST, outer: ast.AST) -> bool:
        """Whether a node is inside another one."""
        return node is outer or any(above is outer for above in self.ancestors(node))


def _position(made: Definition) -> tuple[int, int]:
    return getattr(made.node, "lineno", 0), getattr(made.node, "col_offset", 0)


def word(call: ast.Call, name: str, place: int | None = None) -> ast.expr | None:
    """The argument of a call with this name, or at this place.

    >>> ast.unparse(word(ast.parse("f(1, size=2)").body[0].value, "size"))
    '2'
    """
    for one in call.keywords:
        if one.arg == name:
            return one.value
    if (
        place is not None
        and place < len(call.args)
        and not any(isinstance(one, ast.Starred) for one in call.args[: place + 1])
    ):
        return call.args[place]
    return None


def constant(node: ast.AST | None) -> object:
    """The value of a literal; `...` where it is none.

    >>> constant(ast.parse("-1", mode="eval").body)
    -1
    """
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = constant(node.operand)
        return -inner if isinstance(inner, (int, float)) else ...
    return ...
