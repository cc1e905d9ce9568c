"""Write a toleration with an operator as a CEL expression, and such an expression as a toleration again.

CEL is exact: evaluation errors do not match, as values that cannot be read do not. Of expressions only those have an
operator that compare a key, an effect and a value, each at most once; of any other the reason is given.
"""

from enum import Enum
from typing import Any, NamedTuple

from moorage.dashboard.questions.playing.rule_form import NUMBER, TEXT, VERSION, RuleForm, operator_of
from moorage.lint.facts.possible_taints import EFFECTS
from moorage.match.cel.parse.parser import parse
from moorage.match.cel.parse.syntax import Call, Ident, Literal, Node, Select, Source
from moorage.match.comparison import CANONICAL_INTEGER
from moorage.match.operators import EQUAL, EXISTS, TOLERATION, comparison_of
from moorage.match.semver import version_or_none
from moorage.model.types.pod import Toleration
from moorage.model.well_known.taints import NO_EXECUTE

#: The texts that operators for numbers read, as a pattern.
_CANONICAL = "^(0|-?[1-9][0-9]*)$"
_METHODS = {"<": "isLessThan", ">": "isGreaterThan"}
#: Symbols of operators that CEL writes in another way.
_SIGNS = {"=": "=="}
_SYMBOLS = {"isLessThan": "<", "isGreaterThan": ">"}
#: The symbol of an operator, and by how much its limit is another one: `<= 5` is `< 6`.
_ORDERS = {"_<_": ("<", 0), "_<=_": ("<", 1), "_>_": (">", 0), "_>=_": (">", -1), "_==_": ("=", 0)}
_INT64 = 2**63


def expression_of(toleration: Toleration) -> str | None:
    """Return the expression that matches the same taints; None if the operator or its value cannot be read."""
    parts = [f"taint.key == {_quoted(toleration.key)}"] if toleration.key else []
    if toleration.effect:
        parts.append(f"taint.effect == {_quoted(toleration.effect)}")
    comparison = comparison_of(toleration.operator, TOLERATION)
    if toleration.operator in ("", EQUAL):
        parts.append(f"taint.value == {_quoted(toleration.value)}")
    elif comparison is not None:
        if comparison.unreadable(toleration.value):
            return None
        if comparison.kind is CANONICAL_INTEGER:
            parts.append(f"taint.value.matches({_quoted(_CANONICAL)})")
            parts.append(f"int(taint.value) {_SIGNS.get(comparison.symbol, comparison.symbol)} {toleration.value}")
        else:
            actual, limit = "semver(taint.value, true)", f"semver({_quoted(toleration.value.strip())}, true)"
            method, sign = _METHODS.get(comparison.symbol), _SIGNS.get(comparison.symbol, comparison.symbol)
            parts.append("isSemver(taint.value, true)")
            parts.append(f"{actual}.{method}({limit})" if method else f"{actual}.compareTo({limit}) {sign} 0")
    elif toleration.operator != EXISTS:
        return None
    return " && ".join(parts) or "true"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


class _NoOperator(Exception):
    """Why no operator compares like this."""


class _Taint(Enum):
    """The fields of a taint, where an expression names them."""

    KEY = "key"
    EFFECT = "effect"
    VALUE = "value"


class _Condition(NamedTuple):
    """One part of a conjunction: the form and operator of a comparison with a text, or that a value can be read."""

    form: str
    operator: str
    text: str


def with_operator(expression: str, seconds: int | None = None) -> RuleForm:
    """Return the toleration that matches the same taints, in the form that it has, or the reason why no form has it."""
    root = parse(Source(expression))
    if isinstance(root, list):
        return RuleForm(TEXT, why_not="the expression does not compile")
    try:
        return _toleration(_conditions(root), seconds)
    except _NoOperator as error:
        return RuleForm(TEXT, why_not=str(error))
    except RecursionError:
        return RuleForm(TEXT, why_not="the expression is too deep")


def _conditions(node: Node) -> dict[_Taint | None, _Condition]:
    """Return the conditions of a conjunction by the field that they are about; None has what a value must read as."""
    if isinstance(node, Call) and node.function == "_&&_":
        conditions = _conditions(node.args[0])
        for field, condition in _conditions(node.args[1]).items():
            if conditions.setdefault(field, condition) != condition:
                raise _NoOperator(
                    "a toleration has one comparison: a range or several values at once need an expression"
                )
        return conditions
    if isinstance(node, Literal) and node.value is True:
        return {}
    return dict([_condition(_plain(node))])


def _plain(node: Node) -> Any:
    """Return a node as nested tuples of functions, fields and constants; None stands for what no operator has."""
    if isinstance(node, Literal):
        return node.value
    if isinstance(node, Select) and isinstance(node.operand, Ident) and node.operand.name == "taint":
        return next((field for field in _Taint if field.value == node.field and not node.test_only), None)
    if not isinstance(node, Call):
        return None
    arguments = [_plain(field) for field in ([node.target, *node.args] if node.target is not None else node.args)]
    if node.function == "-_" and type(arguments[0]) is int:
        return -arguments[0]
    return (node.function, *arguments)


def _condition(plain: Any) -> tuple[_Taint | None, _Condition]:
    match plain:
        case ("_==_", _Taint() as field, str(text)):
            return field, _Condition(TEXT, EQUAL, text)
        case (order, ("int", _Taint.VALUE), int(limit)) if order in _ORDERS and type(limit) is int:
            symbol, step = _ORDERS[order]
            if not -_INT64 <= limit + step < _INT64:
                raise _NoOperator("every 64-bit number is below or above that limit")
            operator = EQUAL if symbol == "=" else operator_of(symbol, NUMBER, TOLERATION)
            return _Taint.VALUE, _Condition(NUMBER, operator, str(limit + step))
        case (("isLessThan" | "isGreaterThan") as method, ("semver", _Taint.VALUE, True), ("semver", str(text), True)):
            return _Taint.VALUE, _version(_SYMBOLS[method], text)
        case ("_==_", ("compareTo", ("semver", _Taint.VALUE, True), ("semver", str(text), True)), 0):
            return _Taint.VALUE, _version("=", text)
        case ("isSemver", _Taint.VALUE, True):
            return None, _Condition(VERSION, "", "")
        case ("matches", _Taint.VALUE, str(pattern)) if pattern == _CANONICAL:
            return None, _Condition(NUMBER, "", "")
    raise _NoOperator(_reason(plain))


def _version(symbol: str, text: str) -> _Condition:
    if version_or_none(text) is None:
        raise _NoOperator(f"{text} is not a version")
    return _Condition(VERSION, operator_of(symbol, VERSION, TOLERATION), text)


def _reason(plain: Any) -> str:
    match plain:
        case bool():
            return "it is never true"
        case (str(function), _Taint() as field, *_) if function[0].isalpha():
            return f"no operator looks at a part of a taint's {field.value} ({function})"
        case ("!_" | "_!=_", *_):
            return "no operator says that something is not so: a toleration names what it tolerates"
        case ("_||_" | "@in", *_):
            return "a toleration has no alternatives: write one for each"
    return "no operator says this: they compare a key, an effect, and a value's text, number or version"


def _toleration(conditions: dict[_Taint | None, _Condition], seconds: int | None) -> RuleForm:
    key, effect = (conditions[field].text if field in conditions else "" for field in (_Taint.KEY, _Taint.EFFECT))
    compared, guard = conditions.get(_Taint.VALUE), conditions.get(None)
    if _Taint.KEY in conditions and not key:
        raise _NoOperator("an empty key means every key to an operator")
    if _Taint.EFFECT in conditions and effect not in EFFECTS:
        raise _NoOperator("it is never true")
    if guard is not None and (compared is None or compared.form != guard.form):
        raise _NoOperator("no operator only tests whether a value is a number or a version")
    if compared is not None and not key:
        raise _NoOperator("an operator that compares needs a key; only Exists may leave it out")
    form, operator, value = compared or _Condition(TEXT, EXISTS, "")
    differs = []
    if form == NUMBER and guard is None:
        differs.append("int() also reads other spellings, such as 007 and +5")
    if seconds is not None and effect != NO_EXECUTE:
        differs.append("the API server takes tolerationSeconds beside an operator with effect: NoExecute only")
    toleration = Toleration(key=key, operator=operator, value=value, effect=effect, tolerationSeconds=seconds)
    return RuleForm(form, toleration, differs="; ".join(differs))
