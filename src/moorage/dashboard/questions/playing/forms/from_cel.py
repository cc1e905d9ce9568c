"""Say a CEL expression with operators, where that is possible: an expression becomes alternatives of conditions.

Conditions that operators know: a key, an effect, a value's text, its number, its version. `||`, `in` and `!=` of an
effect become several tolerations. Everything else is answered with the reason why it has no operator.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import msgspec

from moorage.dashboard.questions.playing.forms.from_operators import CANONICAL_PATTERN
from moorage.dashboard.questions.playing.forms.said import NUMBER, TEXT, VERSION, Said
from moorage.lint.facts.possible_taints import EFFECTS
from moorage.match.cel.parse.parser import parse
from moorage.match.cel.parse.syntax import Call, Ident, ListLiteral, Literal, Node, Select, Source
from moorage.match.comparison import CANONICAL_INTEGER
from moorage.match.comparison import VERSION as VERSIONS
from moorage.match.operators import EQUAL, EXISTS, TOLERATION, comparisons_in
from moorage.match.semver import SemverError, parse_tolerant
from moorage.match.semver import parse as parse_strict
from moorage.model.types.pod import Toleration
from moorage.model.well_known.taints import NO_EXECUTE

MAX_ALTERNATIVES = 16
_COMPARISONS = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", "_==_": "="}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_INT64 = 2**63


class NotSayable(Exception):
    """No operator says this; `str()` is the reason."""


class Condition(msgspec.Struct, frozen=True):
    """One thing that must be true. `field` is key, effect, value, number, version, `number!` or `version!` (guards).

    `loose` says in what the expression reads more or fewer texts than the operator.
    """

    field: str
    symbol: str = "="
    text: str = ""
    loose: str = ""


def said_with_operators(expression: str, seconds: int | None = None) -> Said:
    """Return the tolerations that match the same taints, under the form they have, or the reason why there are none."""
    root = parse(Source(expression))
    if isinstance(root, list):
        return Said(TEXT, why_not="the expression does not compile")
    try:
        alternatives = _alternatives(root)
        made = [_toleration(one, seconds) for one in alternatives]
    except NotSayable as error:
        return Said(TEXT, why_not=str(error))
    except RecursionError:
        return Said(TEXT, why_not="the expression is too deep")
    tolerations = tuple(dict.fromkeys(toleration for several, _, _ in made for toleration in several))
    if not tolerations:
        return Said(TEXT, why_not="it is never true")
    forms = {form for _, form, _ in made}
    form = next((one for one in (VERSION, NUMBER) if one in forms), TEXT)
    differs = "; ".join(dict.fromkeys(loose for _, _, loose in made if loose))
    return Said(form, tolerations, differs=differs)


# -- alternatives -----------------------------------------------------------------------------------------------------


def _alternatives(node: Node) -> list[list[Condition]]:
    """Return the expression as alternatives, each of which is conditions that must all be true."""
    if isinstance(node, Call) and node.function == "_||_":
        return _bounded([*_alternatives(node.args[0]), *_alternatives(node.args[1])])
    if isinstance(node, Call) and node.function == "_&&_":
        left, right = (_alternatives(one) for one in node.args)
        _bounded([*left, *right])
        return _bounded([a + b for a, b in product(left, right)])
    return _bounded([list(one) for one in _condition(node)])


def _bounded(found: list[list[Condition]]) -> list[list[Condition]]:
    if len(found) > MAX_ALTERNATIVES:
        raise NotSayable(f"it would take more than {MAX_ALTERNATIVES} tolerations")
    return found


def _condition(node: Node) -> Iterator[tuple[Condition, ...]]:
    """Yield the alternatives of one condition."""
    if isinstance(node, Literal) and node.value is True:
        yield ()
        return
    if isinstance(node, Call):
        for reading in (_text_equality, _membership, _other_effects, _numbers, _versions, _guards):
            found = reading(node)
            if found is not None:
                yield from ((one,) for one in found)
                return
    raise NotSayable(_reason(node))


def _text_equality(node: Call) -> list[Condition] | None:
    for one, other in _sides(node, "_==_"):
        field = _field(one)
        if field is not None and isinstance(other, Literal) and isinstance(other.value, str):
            return [Condition(field, text=other.value)]
    return None


def _membership(node: Call) -> list[Condition] | None:
    if node.function != "@in" or not isinstance(node.args[1], ListLiteral):
        return None
    field = _field(node.args[0])
    values = [one.value for one in node.args[1].elements if isinstance(one, Literal) and isinstance(one.value, str)]
    if field is None or len(values) != len(node.args[1].elements) or not values:
        return None
    return [Condition(field, text=value) for value in values]


def _other_effects(node: Call) -> list[Condition] | None:
    """`taint.effect != 'NoExecute'` is one of the two other effects."""
    for one, other in _sides(node, "_!=_"):
        if _field(one) == "effect" and isinstance(other, Literal) and isinstance(other.value, str):
            return [Condition("effect", text=effect) for effect in EFFECTS if effect != other.value]
    return None


def _numbers(node: Call) -> list[Condition] | None:
    """`int(taint.value) < 5`, in either direction; `<=` and `>=` are the next number's."""
    compared = _compared(node, _is_number)
    if compared is None:
        return None
    symbol, limit = compared
    number = _integer(limit)
    if number is None:
        return None
    if symbol in ("<=", ">="):
        symbol, number = ("<", number + 1) if symbol == "<=" else (">", number - 1)
    if not -_INT64 <= number < _INT64:
        raise NotSayable("every 64-bit number is below or above that limit")
    return [Condition("number", symbol, str(number), "int() also reads other spellings, such as 007 and +5")]


def _versions(node: Call) -> list[Condition] | None:
    """`semver(taint.value, true).isLessThan(semver('1.2', true))`, or compareTo and a comparison with 0."""
    negated = node.function == "!_"
    call = node.args[0] if negated else node
    if isinstance(call, Call) and call.function in ("isLessThan", "isGreaterThan") and call.target is not None:
        symbol = "<" if call.function == "isLessThan" else ">"
        sides: tuple[Node, Node] = (call.target, call.args[0])
        symbol = {"<": ">=", ">": "<="}[symbol] if negated else symbol
    else:
        found = None if negated else _compare_to_zero(node)
        if found is None:
            return None
        symbol, sides = found
    actual, limit = sides
    if _semver_of_value(actual) is None:
        actual, limit, symbol = limit, actual, _FLIPPED[symbol]
    tolerant, wanted = _semver_of_value(actual), _semver_literal(limit)
    if tolerant is None or wanted is None:
        return None
    loose = "" if tolerant else "semver(taint.value) is strict: it fails for v1.2 and 1.2, which the operators read"
    symbols = {"<=": ("<", "="), ">=": (">", "=")}.get(symbol, (symbol,))
    return [Condition("version", one, wanted, loose) for one in symbols]


def _compare_to_zero(node: Call) -> tuple[str, tuple[Node, Node]] | None:
    def is_compared(one: Node) -> bool:
        return isinstance(one, Call) and one.function == "compareTo" and one.target is not None

    if node.function == "_==_":
        for one, other in _sides(node, "_==_"):
            if _semver_of_value(one) is not None and _semver_literal(other) is not None:
                return "=", (one, other)
    compared = _compared(node, is_compared)
    if compared is None or _integer(compared[1]) != 0:
        return None
    call = next(one for one in node.args if is_compared(one))
    assert isinstance(call, Call)
    assert call.target is not None
    return compared[0], (call.target, call.args[0])


def _guards(node: Call) -> list[Condition] | None:
    """Tests that a value can be read at all, which operators make by themselves."""
    if node.function == "isSemver" and node.args and _field(node.args[0]) == "value":
        flag = node.args[1] if len(node.args) > 1 else None
        is_tolerant = isinstance(flag, Literal) and flag.value is True
        return [Condition("version!", loose="" if is_tolerant else "isSemver(taint.value) is strict: 1.2 is none")]
    if node.function == "matches" and node.target is not None and _field(node.target) == "value":
        pattern = node.args[0]
        if isinstance(pattern, Literal) and pattern.value == CANONICAL_PATTERN:
            return [Condition("number!")]
    return None


# -- parts ------------------------------------------------------------------------------------------------------------


def _sides(node: Call, function: str) -> Iterator[tuple[Node, Node]]:
    if node.function == function and len(node.args) == 2:
        yield node.args[0], node.args[1]
        yield node.args[1], node.args[0]


def _compared(node: Call, is_actual: Callable[[Node], bool]) -> tuple[str, Node] | None:
    """Return how something is compared with what, the thing itself on the left."""
    symbol = _COMPARISONS.get(node.function)
    if symbol is None or len(node.args) != 2:
        return None
    left, right = node.args
    if is_actual(left):
        return symbol, right
    return (_FLIPPED[symbol], left) if is_actual(right) else None


def _field(node: Node) -> str | None:
    is_taint = isinstance(node, Select) and isinstance(node.operand, Ident) and node.operand.name == "taint"
    return node.field if is_taint and isinstance(node, Select) and not node.test_only else None


def _is_number(node: Node) -> bool:
    return isinstance(node, Call) and node.function == "int" and len(node.args) == 1 and _field(node.args[0]) == "value"


def _integer(node: Node) -> int | None:
    if isinstance(node, Call) and node.function == "-_" and isinstance(node.args[0], Literal):
        value: Any = node.args[0].value
        return -value if type(value) is int else None
    return node.value if isinstance(node, Literal) and type(node.value) is int else None


def _semver_of_value(node: Node) -> bool | None:
    """Return whether `semver(taint.value, …)` is tolerant; None if the node is something else."""
    if not isinstance(node, Call) or node.function != "semver" or not node.args or _field(node.args[0]) != "value":
        return None
    flag = node.args[1] if len(node.args) > 1 else None
    if flag is not None and not (isinstance(flag, Literal) and isinstance(flag.value, bool)):
        return None
    return isinstance(flag, Literal) and flag.value is True


def _semver_literal(node: Node) -> str | None:
    if not isinstance(node, Call) or node.function != "semver" or not node.args:
        return None
    text, flag = node.args[0], node.args[1] if len(node.args) > 1 else None
    if not isinstance(text, Literal) or not isinstance(text.value, str):
        return None
    is_tolerant = isinstance(flag, Literal) and flag.value is True
    try:
        (parse_tolerant if is_tolerant else parse_strict)(text.value)
    except SemverError:
        return None
    return text.value


def _reason(node: Node) -> str:
    """Say why a condition has no operator."""
    if isinstance(node, Literal):
        return "it is never true"
    if isinstance(node, Call) and node.function in _PARTS and node.target is not None:
        field = _field(node.target)
        if field is not None:
            return f"no operator looks at a part of a taint's {field} ({node.function})"
    if isinstance(node, Call) and node.function in ("!_", "_!=_"):
        return "no operator says that something is not so: a toleration names what it tolerates"
    if isinstance(node, Call) and node.function == "_?_:_":
        return "no operator chooses between conditions (? :)"
    return "no operator says this: they compare a key, an effect, and a value's text, number or version"


_PARTS = frozenset({"startsWith", "endsWith", "contains", "matches", "find", "split", "substring"})


# -- tolerations ------------------------------------------------------------------------------------------------------


def _toleration(conditions: list[Condition], seconds: int | None) -> tuple[tuple[Toleration, ...], str, str]:
    """Return the toleration that demands all conditions, its form, and where it differs; none if they contradict."""
    by_field: dict[str, list[Condition]] = {}
    for one in conditions:
        found = by_field.setdefault(one.field, [])
        if one not in found:
            found.append(one)
    texts = {field: by_field.get(field, []) for field in ("key", "effect", "value")}
    if any(len(found) > 1 for found in texts.values()) or any(one.text not in EFFECTS for one in texts["effect"]):
        return (), TEXT, ""  # no taint is two texts at once or has another effect: this alternative matches nothing
    key, effect = (texts[field][0].text if texts[field] else "" for field in ("key", "effect"))
    compared = [one for field in ("value", "number", "version") for one in by_field.get(field, ())]
    guards = [one for field in ("number!", "version!") for one in by_field.get(field, ())]
    if len(compared) > 1:
        raise NotSayable("a toleration has one comparison: a range or several values at once need an expression")
    if not compared:
        if guards:
            raise NotSayable("no operator tests whether a value is a number or a version")
        if texts["key"] and not key:
            raise NotSayable("an empty key means every key to an operator")
        made = Toleration(key=key, operator=EXISTS, effect=effect, tolerationSeconds=seconds)
        return (made,), TEXT, _loose_effect(effect, seconds)
    if not key:
        raise NotSayable("an operator that compares needs a key; only Exists may leave it out")
    return _comparing(key, effect, seconds, compared[0], guards)


def _comparing(
    key: str, effect: str, seconds: int | None, wanted: Condition, guards: list[Condition]
) -> tuple[tuple[Toleration, ...], str, str]:
    if wanted.field == "value" or (wanted.field == "number" and wanted.symbol == "="):
        form, operator = (TEXT if wanted.field == "value" else NUMBER), EQUAL
    else:
        form, kind = (NUMBER, CANONICAL_INTEGER) if wanted.field == "number" else (VERSION, VERSIONS)
        operator = next(name for name, one in comparisons_in(TOLERATION, kind).items() if one.symbol == wanted.symbol)
    fitting = {"number": "number!", "version": "version!"}.get(wanted.field, "")
    if any(guard.field != fitting for guard in guards):
        raise NotSayable("a toleration has one comparison: it cannot also test what the value is")
    loose = wanted.loose
    if wanted.field == "number" and guards:
        loose = ""
    loose = loose or "; ".join(guard.loose for guard in guards if guard.loose)
    made = Toleration(key=key, operator=operator, value=wanted.text, effect=effect, tolerationSeconds=seconds)
    return (made,), form, "; ".join(one for one in (loose, _loose_effect(effect, seconds)) if one)


def _loose_effect(effect: str, seconds: int | None) -> str:
    if seconds is None or effect == NO_EXECUTE:
        return ""
    return "the API server takes tolerationSeconds beside an operator with effect: NoExecute only"
