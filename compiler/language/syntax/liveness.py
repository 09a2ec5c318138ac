"""Which names a piece of kernel source assigns, and which it may read before it assigns them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence


def assigned(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Names a block may assign, including `name[i] = ...` (which changes the list `name` holds)."""
    return _cached(body, "assigned", lambda: frozenset(_assigned(body)))


def rebound(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Names a block binds anew, not merely by `name[i] = ...`."""
    return _cached(body, "rebound", lambda: frozenset(_assigned(body, subscripts=False)))


def exposed(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Names a block may read before it has surely assigned them."""
    return _cached(body, "exposed", lambda: frozenset(_scanned(body)[1]))


def settled(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Names a block surely assigns, whatever way is taken through it."""
    return _cached(body, "settled", lambda: frozenset(_scanned(body)[0]))


def _cached(body: Sequence[ast.stmt], kind: str, compute: Callable[[], frozenset[str]]) -> frozenset[str]:
    if not body:
        return frozenset()
    known = body[0].__dict__.setdefault("liveness", {})  # kept on the node: it goes when the source goes
    found = known.get(kind)
    if found is None:
        found = known[kind] = compute()
    return found


def _scanned(body: Sequence[ast.stmt]) -> tuple[set[str], set[str]]:
    defined: set[str] = set()
    reads: set[str] = set()
    _scan(body, defined, reads)
    return defined, reads


def target_names(target: ast.expr, subscripts: bool = True) -> Iterable[str]:
    """The names an assignment target binds or changes."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for item in target.elts:
            yield from target_names(item, subscripts)
    elif isinstance(target, ast.Starred):
        yield from target_names(target.value, subscripts)
    elif isinstance(target, ast.Subscript) and subscripts:
        yield from target_names(target.value)


def _assigned(body: Sequence[ast.stmt], subscripts: bool = True) -> Iterable[str]:
    for statement in body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                yield from target_names(target, subscripts)
        elif isinstance(statement, (ast.AugAssign, ast.AnnAssign)):
            yield from target_names(statement.target, subscripts)
        elif isinstance(statement, ast.For):
            yield from target_names(statement.target, subscripts)
            yield from _assigned(statement.body, subscripts)
        elif isinstance(statement, ast.While):
            yield from _assigned(statement.body, subscripts)
        elif isinstance(statement, ast.If):
            yield from _assigned(statement.body, subscripts)
            yield from _assigned(statement.orelse, subscripts)
        elif isinstance(statement, ast.FunctionDef):
            yield statement.name


def names_read(node: ast.AST) -> frozenset[str]:
    """Every name an expression or nested definition loads."""
    found = node.__dict__.get("names_read")  # kept on the node, as loops in loops ask again and again
    if found is None:
        names: set[str] = set()
        _read_names(node, names)
        found = node.__dict__["names_read"] = frozenset(names)
    return found


def parts_of(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one that hold something: what `ast.iter_child_nodes` finds in several times as long."""
    found: list[ast.AST] = []
    for value in [getattr(node, name, None) for name in node._fields]:
        if type(value) is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST) and value._fields:  # operators and contexts hold nothing
            found.append(value)
    return found


def _read_names(node: ast.AST, names: set[str]) -> None:
    """What `ast.walk` would find, which takes five times as long."""
    kind = type(node)
    if kind is ast.Name:
        if type(node.ctx) is ast.Load:  # pyright: ignore[reportAttributeAccessIssue]
            names.add(node.id)  # pyright: ignore[reportAttributeAccessIssue]
        return
    if kind is ast.Constant:
        return
    for value in [getattr(node, field, None) for field in kind._fields]:
        if type(value) is list:
            for item in value:
                if isinstance(item, ast.AST):
                    _read_names(item, names)
        elif isinstance(value, ast.AST) and value._fields:  # operators and contexts hold nothing
            _read_names(value, names)


def _scan(body: Sequence[ast.stmt], defined: set[str], reads: set[str]) -> None:
    for statement in body:
        if isinstance(statement, ast.Assign):
            reads |= names_read(statement.value) - defined
            for target in statement.targets:
                _scan_target(target, defined, reads)
        elif isinstance(statement, ast.AugAssign):
            reads |= (names_read(statement.value) | set(target_names(statement.target))) - defined
            _scan_target(statement.target, defined, reads)
        elif isinstance(statement, ast.If):
            reads |= names_read(statement.test) - defined
            one, two = set(defined), set(defined)
            _scan(statement.body, one, reads)
            _scan(statement.orelse, two, reads)
            defined |= one & two
        elif isinstance(statement, ast.For):
            reads |= names_read(statement.iter) - defined
            inner = set(defined)
            _scan_target(statement.target, inner, reads)
            _scan(statement.body, inner, reads)
        elif isinstance(statement, ast.While):
            reads |= names_read(statement.test) - defined
            _scan(statement.body, set(defined), reads)
        elif isinstance(statement, ast.FunctionDef):
            parameters = {a.arg for a in (*statement.args.args, *statement.args.kwonlyargs)}
            reads |= names_read(statement) - defined - parameters
            defined.add(statement.name)
        else:
            reads |= names_read(statement) - defined


def _scan_target(target: ast.expr, defined: set[str], reads: set[str]) -> None:
    if isinstance(target, ast.Name):
        defined.add(target.id)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for item in target.elts:
            _scan_target(item, defined, reads)
    elif isinstance(target, ast.Subscript):
        reads |= (names_read(target.value) | set(target_names(target.value)) | names_read(target.slice)) - defined
    elif isinstance(target, ast.Attribute):
        reads |= names_read(target.value) - defined
