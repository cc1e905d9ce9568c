"""Say a toleration with an operator in all other forms.

CEL is exact: evaluation errors do not match, as values that cannot be read do not. Numbers and versions read different
texts, so that one can only stand for the other where the taints' values are both.
"""

from msgspec.structs import replace

from moorage.dashboard.questions.playing.forms.said import EXPRESSION, NUMBER, NUMBER_OPERATORS, TEXT, VERSION, Said
from moorage.match.comparison import CANONICAL_INTEGER, Comparison
from moorage.match.comparison import VERSION as VERSIONS
from moorage.match.operators import EQUAL, EXISTS, TOLERATION, comparison_of, comparisons_in
from moorage.match.semver import version_or_none
from moorage.model.types.pod import Toleration

#: The texts that operators for numbers read, as a pattern.
CANONICAL_PATTERN = "^(0|-?[1-9][0-9]*)$"
_METHODS = {"<": "isLessThan", ">": "isGreaterThan"}


def cel_quote(text: str) -> str:
    """Write a text as a literal of CEL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


def said_in_cel(toleration: Toleration) -> str | None:
    """Return the expression that matches the same taints; None if the operator or its value cannot be read."""
    parts = [f"taint.key == {cel_quote(toleration.key)}"] if toleration.key else []
    if toleration.effect:
        parts.append(f"taint.effect == {cel_quote(toleration.effect)}")
    comparison = comparison_of(toleration.operator, TOLERATION)
    if toleration.operator in ("", EQUAL):
        parts.append(f"taint.value == {cel_quote(toleration.value)}")
    elif comparison is not None:
        if comparison.unreadable(toleration.value):
            return None
        parts += _compared(comparison, toleration.value)
    elif toleration.operator != EXISTS:
        return None
    return " && ".join(parts) or "true"


def _compared(comparison: Comparison, wanted: str) -> list[str]:
    if comparison.kind is CANONICAL_INTEGER:
        return [
            f"taint.value.matches({cel_quote(CANONICAL_PATTERN)})",
            f"int(taint.value) {comparison.symbol} {wanted}",
        ]
    actual, limit = "semver(taint.value, true)", f"semver({cel_quote(wanted.strip())}, true)"
    method = _METHODS.get(comparison.symbol)
    compared = f"{actual}.{method}({limit})" if method else f"{actual}.compareTo({limit}) == 0"
    return ["isSemver(taint.value, true)", compared]


def forms_of(toleration: Toleration) -> list[Said]:
    """Return the toleration in the forms that it is not in."""
    return [*_by_value(toleration), _as_expression(toleration)]


def _as_expression(toleration: Toleration) -> Said:
    expression = said_in_cel(toleration)
    if expression is None:
        return Said(EXPRESSION, why_not="the operator or its value cannot be read")
    made = Toleration(expression=expression, tolerationSeconds=toleration.tolerationSeconds)
    return Said(EXPRESSION, (made,))


def form_of(toleration: Toleration) -> str:
    """Return the form that a toleration is in."""
    if toleration.expression:
        return EXPRESSION
    comparison = comparison_of(toleration.operator, TOLERATION)
    if comparison is None:
        return TEXT
    return NUMBER if comparison.kind is CANONICAL_INTEGER else VERSION


def _by_value(toleration: Toleration) -> list[Said]:
    form = form_of(toleration)
    if form == NUMBER:
        return [Said(TEXT, why_not="Equal compares one text, it has no order"), _number_as_version(toleration)]
    if form == VERSION:
        return [_version_as_text(toleration), _version_as_number(toleration)]
    if toleration.operator == EXISTS:
        reason = "Exists looks at no value, so there is nothing to compare"
        return [Said(NUMBER, why_not=reason), Said(VERSION, why_not=reason)]
    return [_text_as_number(toleration), _text_as_version(toleration)]


def _operator(symbol: str, kind: str) -> str | None:
    """Return the operator that compares numbers or versions in this way."""
    values = CANONICAL_INTEGER if kind == NUMBER else VERSIONS
    return next((name for name, one in comparisons_in(TOLERATION, values).items() if one.symbol == symbol), None)


def _symbol(toleration: Toleration) -> str:
    comparison = comparison_of(toleration.operator, TOLERATION)
    return comparison.symbol if comparison is not None else "="


def _number_as_version(toleration: Toleration) -> Said:
    if CANONICAL_INTEGER.unreadable(toleration.value) or toleration.value.startswith("-"):
        return Said(VERSION, why_not="a version has no sign" if toleration.value[:1] == "-" else "it is no number")
    operator = _operator(_symbol(toleration), VERSION)
    assert operator is not None
    made = replace(toleration, operator=operator, value=f"{toleration.value}.0.0")
    differs = (
        f"the same for whole numbers only: 4.2.0 and 007 are versions, but not numbers that {NUMBER_OPERATORS} read"
    )
    return Said(VERSION, (made,), differs=differs)


def _version_as_number(toleration: Toleration) -> Said:
    version = version_or_none(toleration.value)
    if version is None:
        return Said(NUMBER, why_not="it is no version")
    if version.minor or version.patch or version.pre or version.major >= 2**63:
        return Said(NUMBER, why_not=f"{toleration.value} is not a whole number")
    operator = _operator(_symbol(toleration), NUMBER)
    if operator is None:
        return Said(NUMBER, why_not="no operator compares numbers for equality; Equal compares the text")
    made = replace(toleration, operator=operator, value=str(version.major))
    differs = "the same for whole numbers only: a version such as 4.2.0 is no number, and then never matches"
    return Said(NUMBER, (made,), differs=differs)


def _version_as_text(toleration: Toleration) -> Said:
    version = version_or_none(toleration.value)
    if _symbol(toleration) != "=" or version is None:
        return Said(TEXT, why_not="Equal compares one text, it has no order")
    made = replace(toleration, operator=EQUAL, value=toleration.value)
    return Said(TEXT, (made,), differs="Equal takes this spelling only; 1.2, v1.2.0 and 1.2.0 are three texts")


def _text_as_number(toleration: Toleration) -> Said:
    if CANONICAL_INTEGER.unreadable(toleration.value):
        return Said(NUMBER, why_not="its value is not a whole number")
    one_spelling = f"Equal does, since a number that {NUMBER_OPERATORS} read has one spelling"
    return Said(NUMBER, why_not=f"no operator compares numbers for equality: {one_spelling}")


def _text_as_version(toleration: Toleration) -> Said:
    if version_or_none(toleration.value) is None:
        return Said(VERSION, why_not="its value is not a semantic version")
    operator = _operator("=", VERSION)
    assert operator is not None
    made = replace(toleration, operator=operator)
    return Said(VERSION, (made,), differs="also takes other spellings of the version: 1.2, v1.2 and 1.2.0 are one")
