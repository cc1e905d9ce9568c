"""Find the functions that read text: those that loop over a text parameter, take it apart, match it or convert it.

Only a parameter annotated as text counts, and only what is done with that parameter itself. A function that a
registered reader of the same module calls, directly or by way of others, is read with it.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import moorage

SOURCE = Path(moorage.__file__).parent
#: The rooms that a request, a manifest or an object of another client passes through.
ROOMS = ("admit", "client", "columns", "control", "custom", "match", "model", "run", "schedule", "serve")
_TEXT = frozenset(("str", "bytes", "str | None", "bytes | None", "str | bytes"))
_MATCHERS = frozenset(("Pattern", "whole", "anywhere"))
_CONVERSIONS = frozenset(("int", "float", "Decimal", "Fraction"))
_SPLITS = frozenset(("split", "splitlines", "rsplit"))
_WALKS = frozenset(("enumerate", "reversed", "map", "filter", "zip", "iter", "sorted", "set", "list", "all", "any"))

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0]
        if room in ROOMS:
            yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text())


def functions_that_read(tree: ast.Module) -> set[str]:
    """Return the names of the functions and methods (`Class.method`) of a module that read a text."""
    patterns = _patterns(tree)
    return {name for name, function in _functions(tree) if _reads(function, patterns)}


def reachable(tree: ast.Module, registered: set[str]) -> set[str]:
    """Return the registered functions and those that they call in the same module."""
    calls = {name: _called(function) for name, function in _functions(tree)}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            members = {name for name in calls if name.startswith(f"{node.name}.")}
            calls.setdefault(node.name, set()).update(members)
    covered, waiting = set(), list(registered)
    while waiting:
        name = waiting.pop()
        if name in covered:
            continue
        covered.add(name)
        own = name.partition(".")[0]
        for called in calls.get(name, ()):
            waiting += [full for full in (called, f"{own}.{called}") if full in calls]
    return covered


def _functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    for node in tree.body:
        if isinstance(node, Function):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{inner.name}", inner) for inner in node.body if isinstance(inner, Function))


def _patterns(tree: ast.Module) -> set[str]:
    """Return the names of a module that hold compiled patterns."""
    names = set()
    for node in tree.body:
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if value is not None and any(_is_matcher(part) for part in ast.walk(value)):
            names |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and not _is_loaded(part)}
    return names


def _is_matcher(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    if isinstance(function, ast.Attribute):
        return isinstance(function.value, ast.Name) and function.value.id == "re"
    return isinstance(function, ast.Name) and function.id in _MATCHERS


def _texts(function: Function) -> list[str]:
    parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [each.arg for each in parameters if each.annotation is not None and ast.unparse(each.annotation) in _TEXT]


def _is_loaded(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Load)


def _reads(function: Function, patterns: set[str]) -> bool:
    return any(_is_reading(node, text, patterns) for text in _texts(function) for node in ast.walk(function))


def _is_reading(node: ast.AST, text: str, patterns: set[str]) -> bool:
    if isinstance(node, ast.For | ast.comprehension):
        return _is(node.iter, text)
    if isinstance(node, ast.While):
        return any(isinstance(part, ast.Subscript | ast.Attribute) and _is(part.value, text) for part in ast.walk(node))
    if not isinstance(node, ast.Call):
        return False
    given = any(_is(argument, text) for argument in node.args)
    if isinstance(node.func, ast.Name):
        return given and node.func.id in _CONVERSIONS | _WALKS | patterns
    if isinstance(node.func, ast.Attribute):
        if node.func.attr in _SPLITS and _is(node.func.value, text):
            return True
        owner = node.func.value
        return given and isinstance(owner, ast.Name) and owner.id in patterns | {"re", "base64", "ipaddress"}
    return False


def _is(node: ast.expr, text: str) -> bool:
    """Return whether an expression is the text, a slice of it, or the text without its ends."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Slice) and _is(node.value, text)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _is(node.func.value, text)
    return isinstance(node, ast.Name) and node.id == text


def _called(function: Function) -> set[str]:
    """Return every name that a function mentions: what it calls, or hands on to be called."""
    names = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
    return names
