"""Which assignments reach which names: one walk over a file, scope by scope."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["assign", "unpack", "augment", "import", "parameter", "loop", "with", "def", "class", "other"]
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Env = dict[str, frozenset["Definition"]]


@dataclass(eq=False, frozen=True)
class Definition:
    """One place that gives a name a value.

    `value` is the expression assigned, iterated, entered or added; `part` is the place in it for
    `a, b = value`; `target` is what an import means.
    """

    name: str
    kind: Kind
    node: ast.AST
    value: ast.expr | None = None
    part: int | None = None
    target: str = ""


@dataclass(eq=False)
class Scope:
    """The names of a module, a class, or a function."""

    node: ast.AST
    parent: Scope | None
    definitions: dict[str, list[Definition]] = field(default_factory=dict)
    outer: dict[str, Scope] = field(default_factory=dict)
    """Names declared `global` or `nonlocal`, and where they live."""

    def visible(self, name: str) -> tuple[Definition, ...]:
        """All that a name free in this scope may be: whatever the nearest outer scope ever gives it."""
        scope: Scope | None = self.outer.get(name, self.parent)
        while scope is not None:
            if name in scope.definitions and not isinstance(scope.node, ast.ClassDef):
                return tuple(scope.definitions[name])
            scope = scope.parent
        return ()


def join(*envs: Env | None) -> Env | None:
    """What may hold where several paths meet; None stands for a path that goes nowhere."""
    live = [env for env in envs if env is not None]
    if not live:
        return None
    joined = dict(live[0])
    for env in live[1:]:
        for name, found in env.items():
            joined[name] = joined.get(name, frozenset()) | found
    return joined


class Flow:
    """The definitions that reach every name of a file; without `declares` it has no `global` or `nonlocal`.

    >>> import ast
    >>> tree = ast.parse("x = 1\\nif y:\\n    x = 2\\nprint(x)")
    >>> flow = Flow(tree)
    >>> use = tree.body[-1].value.args[0]
    >>> sorted(found.value.value for found in flow.reaching[use])
    [1, 2]
    """

    def __init__(self, tree: ast.Module, declares: bool = True) -> None:
        self._declares = declares
        self.reaching: dict[ast.Name, frozenset[Definition]] = {}
        self.scopes: dict[ast.AST, Scope] = {}
        self._made: dict[tuple[ast.AST, str], Definition] = {}
        self._loops: list[tuple[list[Env | None], list[Env | None]]] = []
        self._later: list[tuple[Function, Scope]] = []
        self._free: list[tuple[ast.Name, Scope]] = []
        self._scope = Scope(tree, None)
        self.module = self.scopes[tree] = self._scope
        self._block(tree.body, {})
        while self._later:
            node, scope = self._later.pop()
            self._function(node, scope)
        for name, scope in self._free:
            if found := scope.visible(name.id):
                self.reaching[name] = self.reaching.get(name, frozenset()) | frozenset(found)

    def _define(
        self,
        env: Env,
        node: ast.AST,
        name: str,
        kind: Kind,
        value: ast.expr | None = None,
        part: int | None = None,
        target: str = "",
    ) -> None:
        made = self._made.get((node, name))
        if made is None:
            made = self._made[node, name] = Definition(name, kind, node, value, part, target)
            home = self._scope.outer.get(name, self._scope)
            home.definitions.setdefault(name, []).append(made)
        if name in self._scope.outer:
            env.pop(name, None)  # anybody may change it: reads see every definition
        else:
            env[name] = frozenset([made])

    def _assign(self, env: Env, target: ast.expr, kind: Kind, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self._define(env, target, target.id, kind, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            starred = any(isinstance(one, ast.Starred) for one in target.elts)
            same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
            for number, one in enumerate(target.elts):
                if kind == "assign" and same and not starred and isinstance(value, (ast.Tuple, ast.List)):
                    self._assign(env, one, kind, value.elts[number])
                elif isinstance(one, ast.Name):
                    part = None if starred else number
                    self._define(env, one, one.id, "unpack" if kind == "assign" else kind, value, part)
                else:
                    self._assign(env, one, "other", value)
        elif isinstance(target, ast.Starred):
            self._assign(env, target.value, "other", None)
        else:
            self._expression(target, env)

    def _expression(self, node: ast.AST | None, env: Env) -> None:
        if node is None:
            return
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                if node.id in env:
                    self.reaching[node] = self.reaching.get(node, frozenset()) | env[node.id]
                else:
                    self._free.append((node, self._scope))
        elif isinstance(node, ast.NamedExpr):
            self._expression(node.value, env)
            self._define(env, node.target, node.target.id, "assign", node.value)
        elif isinstance(node, ast.Lambda):
            self._inner(node, env)
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            inside = dict(env)
            for clause in node.generators:
                self._expression(clause.iter, inside)
                self._assign(inside, clause.target, "loop", clause.iter)
                for test in clause.ifs:
                    self._expression(test, inside)
            parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            for part in parts:
                self._expression(part, inside)
        else:
            for child in ast.iter_child_nodes(node):
                self._expression(child, env)

    def _inner(self, node: Function, env: Env) -> None:
        """A function is made here: its defaults and annotations are evaluated now, its body later."""
        given = node.args
        for default in [*given.defaults, *given.kw_defaults]:
            self._expression(default, env)
        for one in [*given.posonlyargs, *given.args, *given.kwonlyargs]:
            self._expression(one.annotation, env)
        if node not in self.scopes:
            scope = self.scopes[node] = Scope(node, self._scope)
            self._later.append((node, scope))

    def _function(self, node: Function, scope: Scope) -> None:
        self._scope, self._loops = scope, []
        env: Env = {}
        given = node.args
        for one in [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]:
            if one is not None:
                self._define(env, one, one.arg, "parameter")
        if isinstance(node, ast.Lambda):
            self._expression(node.body, env)
        else:
            if self._declares:
                self._declared(node, scope)
            self._block(node.body, env)

    def _declared(self, node: ast.AST, scope: Scope) -> None:
        """Find `global` and `nonlocal` first: they hold for the whole function."""
        waiting = list(ast.iter_child_nodes(node))
        while waiting:
            one = waiting.pop()
            if isinstance(one, ast.Global):
                scope.outer.update(dict.fromkeys(one.names, self.module))
            elif isinstance(one, ast.Nonlocal):
                for name in one.names:
                    above = scope.parent
                    while above is not None and name not in above.definitions:
                        above = above.parent
                    scope.outer[name] = above or self.module
            elif not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
                waiting.extend(ast.iter_child_nodes(one))

    def _block(self, body: Sequence[ast.stmt], env: Env | None) -> Env | None:
        for statement in body:
            env = self._statement(statement, {} if env is None else env)
        return env

    def _statement(self, node: ast.stmt, env: Env) -> Env | None:
        match node:
            case ast.Assign():
                self._expression(node.value, env)
                for target in node.targets:
                    self._assign(env, target, "assign", node.value)
            case ast.AnnAssign():
                self._expression(node.annotation, env)
                if node.value is not None:
                    self._expression(node.value, env)
                    self._assign(env, node.target, "assign", node.value)
            case ast.AugAssign():
                self._expression(node.value, env)
                if isinstance(node.target, ast.Name):
                    before = env.get(node.target.id, frozenset())
                    self.reaching[node.target] = self.reaching.get(node.target, frozenset()) | before
                    self._define(env, node.target, node.target.id, "augment", node.value)
                    if node.target.id in env:
                        env[node.target.id] |= before
                else:
                    self._expression(node.target, env)
            case ast.If():
                self._expression(node.test, env)
                return join(self._block(node.body, dict(env)), self._block(node.orelse, dict(env)))
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._loop(node, env)
            case ast.Try() | ast.TryStar():
                return self._try(node, env)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self._expression(item.context_expr, env)
                    if item.optional_vars is not None:
                        self._assign(env, item.optional_vars, "with", item.context_expr)
                return self._block(node.body, env)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for decorator in node.decorator_list:
                    self._expression(decorator, env)
                self._inner(node, env)
                self._define(env, node, node.name, "def")
            case ast.ClassDef():
                self._class(node, env)
            case ast.Import() | ast.ImportFrom():
                self._import(node, env)
            case ast.Return() | ast.Raise():
                for child in ast.iter_child_nodes(node):
                    self._expression(child, env)
                return None
            case ast.Break() | ast.Continue():
                if self._loops:
                    self._loops[-1][isinstance(node, ast.Continue)].append(env)
                return None
            case ast.Match():
                self._expression(node.subject, env)
                ends = [env, *(self._case(case, dict(env)) for case in node.cases)]
                return join(*ends)
            case _:
                for child in ast.iter_child_nodes(node):
                    self._expression(child, env)
        return env

    def _case(self, case: ast.match_case, env: Env) -> Env | None:
        for node in ast.walk(case.pattern):
            if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
                self._define(env, node, node.name, "other")
        self._expression(case.guard, env)
        return self._block(case.body, env)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, env: Env) -> Env | None:
        if not isinstance(node, ast.While):
            self._expression(node.iter, env)
        breaks: list[Env | None] = []
        start: Env = dict(env)
        for _ in range(2):  # the second time with what the first has assigned
            again: list[Env | None] = []
            inside = dict(start)
            if isinstance(node, ast.While):
                self._expression(node.test, inside)
            else:
                self._assign(inside, node.target, "loop", node.iter)
            self._loops.append((breaks, again))
            end = self._block(node.body, inside)
            self._loops.pop()
            start = join(start, end, *again) or {}
        forever = (
            isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        )
        after = None if forever else self._block(node.orelse, dict(start))
        return join(after, *breaks)

    def _try(self, node: ast.Try | ast.TryStar, env: Env) -> Env | None:
        end = self._block(node.body, dict(env))
        middle = join(env, end, self._assigned(node.body, env)) or {}
        ends = [self._block(node.orelse, end) if end is not None else None]
        for one in node.handlers:
            inside = dict(middle)
            self._expression(one.type, inside)
            if one.name:
                self._define(inside, one, one.name, "other")
            ends.append(self._block(one.body, inside))
        after = join(*ends)
        if node.finalbody:
            final = self._block(node.finalbody, dict(after if after is not None else middle))
            return None if after is None else final
        return after

    def _assigned(self, body: Iterable[ast.stmt], env: Env) -> Env:
        """What may hold anywhere in a block that an error may leave at any point."""
        found = dict(env)
        for statement in body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    made = self._made.get((node, node.id))
                    if made is not None:
                        found[node.id] = found.get(node.id, frozenset()) | {made}
        return found

    def _class(self, node: ast.ClassDef, env: Env) -> None:
        for child in [*node.decorator_list, *node.bases, *(word.value for word in node.keywords)]:
            self._expression(child, env)
        above, loops = self._scope, self._loops
        self._scope = self.scopes.setdefault(node, Scope(node, above))
        self._loops = []
        self._block(node.body, dict(env))
        self._scope, self._loops = above, loops
        self._define(env, node, node.name, "class")

    def _import(self, node: ast.Import | ast.ImportFrom, env: Env) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                name = alias.asname or alias.name.split(".")[0]
                target = alias.name if alias.asname else name
            else:
                name = alias.asname or alias.name
                target = f"{'.' * node.level}{node.module or ''}.{alias.name}"
            self._define(env, alias, name, "import", target=target)
