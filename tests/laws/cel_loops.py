"""Random CEL expressions with loops: over ints and texts, nested, failing, of values whose type is a surprise."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

Draw = Any
Names = tuple[str, ...]

_INTS = ("0", "1", "3", "-2", "9223372036854775807", "size(taint.key)", "int(taint.value)")
_INT_LISTS = (
    "[1, 2, 0]",
    "[]",
    "[size(taint.key), 0]",
    "lists.range(4)",
    "lists.range(3)",
    "[7, 8, 9].map(m, m - 8)",
    "([1, 2] + dyn([dyn('a'), dyn(true)]))",
    "([0] + dyn([dyn(1u), dyn(2.0), dyn(null)]))",
    "{1: 'a', 0: 'b'}",
    "dyn([1, 0, 5])",
    "[1, 2].filter(m, m > int(taint.value))",
)
_TEXTS = ("taint.key", "taint.value", "taint.effect", "''", "'sla'", "'env.example.com/dev'", "'ключ'")
_TEXT_LISTS = (
    "taint.key.split('.')",
    "['a', taint.key, '']",
    "['1.2.3', 'x']",
    "(['a'] + dyn([dyn(1), dyn('sla')]))",
    "{'a': 1, 'sla': 2}",
    "taint.key.findAll('[a-z]+')",
)


def _pick(draw: Draw, choices: Sequence[str]) -> str:
    return str(draw(st.sampled_from(choices)))


def _int(draw: Draw, depth: int, ints: Names, texts: Names) -> str:
    kind = draw(st.integers(0, 9 if depth else 1))
    if kind <= 1:
        return _pick(draw, (*_INTS, *ints, *ints, *ints))
    left, right = _int(draw, depth - 1, ints, texts), _int(draw, depth - 1, ints, texts)
    if kind <= 4:
        return f"({left} {_pick(draw, ('+', '-', '*', '/', '%'))} {right})"
    if kind == 5:
        return f"({_bool(draw, depth - 1, ints, texts)} ? {left} : {right})"
    if kind == 6:
        return f"[{left}, 2, {right}][{_pick(draw, ('0', '1', '7', *ints))}]"
    if kind == 7:
        name = f"b{depth}"
        return f"cel.bind({name}, {left}, {_int(draw, depth - 1, (*ints, name), texts)})"
    if kind == 8:
        return f"size({_text(draw, depth - 1, ints, texts)})"
    return f"{_ints(draw, depth - 1, ints, texts)}.size()"


def _text(draw: Draw, depth: int, ints: Names, texts: Names) -> str:
    if not depth or draw(st.booleans()):
        return _pick(draw, (*_TEXTS, *texts, *texts))
    left = _text(draw, depth - 1, ints, texts)
    if draw(st.booleans()):
        return f"({left} + {_text(draw, depth - 1, ints, texts)})"
    return _pick(
        draw, (f"string({_int(draw, depth - 1, ints, texts)})", f"{left}.upperAscii()", f"{left}.substring(2)")
    )


def _ints(draw: Draw, depth: int, ints: Names, texts: Names) -> str:
    """A list of ints."""
    if not depth or draw(st.booleans()):
        return _pick(draw, _INT_LISTS)
    name = f"i{depth}"
    items = _ints(draw, depth - 1, ints, texts)
    if draw(st.booleans()):
        return f"{items}.filter({name}, {_bool(draw, depth - 1, (*ints, name), texts)})"
    return f"{items}.map({name}, {_int(draw, depth - 1, (*ints, name), texts)})"


def _loop(draw: Draw, depth: int, ints: Names, texts: Names) -> str:
    macro = _pick(draw, ("all", "exists", "exists_one"))
    name, other = f"x{depth}", f"y{depth}"
    if draw(st.booleans()):
        items = _pick(draw, _TEXT_LISTS)
        body = _bool(draw, depth - 1, ints, (*texts, name))
        return f"{items}.{macro}({name}, {body})"
    items = _ints(draw, depth - 1, ints, texts)
    if items.startswith("{"):
        return f"{items}.{macro}({name}, {other}, {_bool(draw, depth - 1, (*ints, name), (*texts, other))})"
    if draw(st.booleans()):
        return f"{items}.{macro}({name}, {_bool(draw, depth - 1, (*ints, name), texts)})"
    inner = (*ints, name, other)
    two = draw(st.integers(0, 3))
    if two == 0:
        return f"{items}.transformMap({name}, {other}, {_int(draw, depth - 1, inner, texts)}).size() == 2"
    if two == 1:
        condition, value = _bool(draw, depth - 1, inner, texts), _int(draw, depth - 1, inner, texts)
        return f"{items}.transformList({name}, {other}, {condition}, {value}).size() == 1"
    if two == 2:
        return f"{items}.transformMapEntry({name}, {other}, {{{other}: {name}}}).size() == 2"
    return f"{items}.{macro}({name}, {other}, {_bool(draw, depth - 1, inner, texts)})"


def _bool(draw: Draw, depth: int, ints: Names, texts: Names) -> str:
    kind = draw(st.integers(0, 11 if depth else 4))
    below = max(depth - 1, 0)
    comparison = _pick(draw, ("==", "!=", "<", "<=", ">", ">="))
    if kind <= 2:
        return f"{_int(draw, below, ints, texts)} {comparison} {_int(draw, below, ints, texts)}"
    left, right = _text(draw, below, ints, texts), _text(draw, below, ints, texts)
    if kind == 3:
        return f"{left} {comparison} {right}"
    if kind == 4:
        calls = (
            f"{left}.contains({right})",
            f"{left}.startsWith({right})",
            f"{left}.matches('^[a-s]+')",
            f"{left}.matches({right})",
            f"{left} in ['sla', 'a']",
            f"{left} in [{right}, 'a']",
            f"semver({left}).isGreaterThan(semver('1.0.0'))",
            f"dyn({left}) == dyn({right})",
            f"dyn({left}) < {right}",
            f"{_int(draw, below, ints, texts)} in [1, 2]",
            f"[{_int(draw, below, ints, texts)}] == [1]",
            f"{{'a': {_int(draw, below, ints, texts)}}}.a > 0",
            f"optional.of({_int(draw, below, ints, texts)}).orValue(1) > 0",
        )
        return _pick(draw, calls)
    if kind <= 8:
        return _loop(draw, depth, ints, texts)
    first, second = _bool(draw, below, ints, texts), _bool(draw, below, ints, texts)
    forms = (f"({first} && {second})", f"({first} || {second})", f"!({first})", f"({first} ? {second} : {first})")
    return _pick(draw, forms)


@st.composite
def loops(draw: Draw) -> str:
    """Expressions of type bool that are a loop; a few are not well-typed after all."""
    return _loop(draw, 3, (), ())
