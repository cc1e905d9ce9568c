"""Compile label selectors, structured (`labelSelector`) or as text (`a in (x,y),!b,c!=d,e>5`).

Out: a `Selector`, or `SelectorError` in Kubernetes' words. A structured selector that is None (Go's nil) matches
nothing, an empty one everything. Kubernetes: metav1.LabelSelectorAsSelector; labels.Parse.
Differs: matchLabels are checked in document order (Go: in random order).
"""

from collections.abc import Iterable, Mapping

import msgspec

from moorage.match.comparison import ABSENT, Objection
from moorage.match.operators import BY_NAME, LABEL_SELECTOR, use_of
from moorage.match.requirement import (
    BINARY_OPERATORS,
    DOES_NOT_EXIST,
    EQUALS,
    EXISTS,
    IN,
    NOT_IN,
    Labels,
    Requirement,
    SelectorError,
    compile_requirement,
    trusted_requirement,
)
from moorage.model.field_error import invalid
from moorage.model.go.quoting import go_quote
from moorage.model.names import label_key_errors
from moorage.model.text.readers import reads_text
from moorage.model.types.meta import LabelSelector
from moorage.model.types.view import ABSENT_LIST


class Selector(msgspec.Struct, frozen=True):
    """A conjunction of requirements, sorted by key; without any it matches every label set, unless `nothing`."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @property
    def everything(self) -> bool:
        """Return whether it restricts nothing: Kubernetes' `Selector.Empty()`."""
        return not self.requirements and not self.nothing

    def match(self, labels: Labels) -> bool:
        for requirement in self.requirements:
            if not requirement.match(labels):
                return False
        return not self.nothing

    def explain(self, labels: Labels) -> str | None:
        """Return the first requirement that does not hold, in a sentence; None exactly when `match` is true."""
        if self.nothing:
            return NOTHING_REASON
        for requirement in self.requirements:
            if reason := requirement.explain(labels):
                return reason
        return None

    def objections(self, labels: Labels) -> list[Objection]:
        """Return every requirement that does not hold; empty exactly when `match` is true."""
        if self.nothing:
            return [(NOTHING_REASON, ABSENT)]
        return [
            (reason, requirement.gap(labels))
            for requirement in self.requirements
            if (reason := requirement.explain(labels)) is not None
        ]

    def __str__(self) -> str:
        """The canonical string form, which `parse_selector` reads back."""
        return ",".join(map(str, self.requirements))


NOTHING_REASON = "a selector that is not set matches nothing"
NOTHING = Selector(nothing=True)
EVERYTHING = Selector()


def conjunction(requirements: Iterable[Requirement]) -> Selector:
    return Selector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


def as_label_selector(selector: LabelSelector | Mapping[str, str] | None) -> LabelSelector | None:
    """Return the selector of any workload as a structured one; that of a ReplicationController is a map of labels."""
    if selector is None or isinstance(selector, LabelSelector):
        return selector
    return LabelSelector(matchLabels=dict(selector))


def compile_label_selector(selector: LabelSelector | None) -> Selector:
    """Compile, or raise `SelectorError` with the first complaint, as Kubernetes words it."""
    if selector is None:
        return NOTHING
    if not selector.matchLabels and not selector.matchExpressions:
        return EVERYTHING
    requirements = [compile_requirement(key, EQUALS, (value,)) for key, value in selector.matchLabels.items()]
    for expression in selector.matchExpressions:
        if use_of(expression.operator, LABEL_SELECTOR) is None:
            raise SelectorError(f"{go_quote(expression.operator)} is not a valid label selector operator")
        # Kubernetes copies the values, and a copy of an empty list is nil.
        selection = BY_NAME[expression.operator].selection
        requirements.append(compile_requirement(expression.key, selection, expression.values or ABSENT_LIST))
    return conjunction(requirements)


def compile_label_set(labels: Mapping[str, str]) -> Selector:
    """Compile a plain map, such as a pod's `nodeSelector`: every entry must be there. Nothing is checked."""
    return conjunction(trusted_requirement(key, EQUALS, (value,)) for key, value in labels.items())


def go_text(selector: LabelSelector | None) -> str:
    """Return a structured selector as Go prints it in messages."""
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted(selector.matchLabels.items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{requirement.key},Operator:{requirement.operator},"
        f"Values:[{' '.join(requirement.values)}],}},"
        for requirement in selector.matchExpressions
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


# -- as text ----------------------------------------------------------------------------------------------------------

_END, _IDENTIFIER = "end", "identifier"
_KEYWORDS = frozenset({"in", "notin"})
_SYMBOLS = frozenset({")", ",", "!", "==", "=", ">", "<", "!=", "("})
_BINARY_TOKENS = {"in": "in", "notin": "notin", "=": "=", "==": "==", "!=": "!=", ">": "gt", "<": "lt"}
_NOWHERE = "<nil>"  # how Go prints the path of a selector that is no field of an object

_BLANKS, _SYMBOL_LETTERS = frozenset(" \t\r\n"), frozenset("=!(),><")
_AFTER_WORDS = _BLANKS | _SYMBOL_LETTERS | {"\0"}


@reads_text("a", "=", "!", "(", ")", ",", " in ", " notin ", "<", " ", "\x00", raises=SelectorError)
def parse_selector(text: str) -> Selector:
    return conjunction(_Parser(_tokens(text)).selector())


def _tokens(text: str) -> list[tuple[str, str]]:
    """Return (kind, literal) for each token; symbols and keywords are their own kind.

    A NUL ends the token before it, or else the text, as in Go.
    """
    tokens: list[tuple[str, str]] = []
    position, end = 0, len(text)
    while True:
        while position < end and text[position] in _BLANKS:
            position += 1
        if position == end or text[position] == "\0":
            return [*tokens, (_END, "")]
        start = position
        if text[start] in _SYMBOL_LETTERS:
            two = text[start : start + 2]
            literal = two if two in _SYMBOLS else text[start]
            tokens.append((literal, literal))
            position += len(literal)
        else:
            while position < end and text[position] not in _AFTER_WORDS:
                position += 1
            word = text[start:position]
            tokens.append((word if word in _KEYWORDS else _IDENTIFIER, word))
        if text[position : position + 1] == "\0":
            position += 1


class _Parser:
    """Recursive descent over the tokens, with the original's places of complaint."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._position = 0

    def selector(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while True:
            kind, literal = self._peek()
            if kind == _END:
                return requirements
            if kind not in (_IDENTIFIER, "!"):
                raise SelectorError(f"found '{literal}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}", error.errors) from None
            kind, literal = self._take()
            if kind == _END:
                return requirements
            if kind != ",":
                raise SelectorError(f"found '{literal}', expected: ',' or 'end of string'")
            kind, literal = self._peek()
            if kind not in (_IDENTIFIER, "!"):
                raise SelectorError(f"found '{literal}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        kind, key = self._take()
        negated = kind == "!"
        if negated:
            kind, key = self._take()
        if kind != _IDENTIFIER:
            raise SelectorError(f"found '{key}', expected: identifier")
        if complaints := label_key_errors(key):
            error = invalid(_NOWHERE, key, "; ".join(complaints))
            raise SelectorError(str(error), (error,))
        if negated:
            return compile_requirement(key, DOES_NOT_EXIST, ())
        if self._peek()[0] in (_END, ","):
            return compile_requirement(key, EXISTS, ())
        operator = self._operator()
        values = self._values() if operator in (IN, NOT_IN) else self._exact_value()
        return compile_requirement(key, operator, sorted(values))

    def _operator(self) -> str:
        kind, literal = self._tokens[self._position]
        self._position += 1
        if kind not in _BINARY_TOKENS:
            raise SelectorError(f"found '{literal}', expected: {', '.join(BINARY_OPERATORS)}")
        return _BINARY_TOKENS[kind]

    def _values(self) -> set[str]:
        kind, literal = self._take()
        if kind != "(":
            raise SelectorError(f"found '{literal}' expected: '('")
        kind, literal = self._peek()
        if kind == ")":
            self._take()
            return {""}
        if kind not in (_IDENTIFIER, ","):
            raise SelectorError(f"found '{literal}', expected: ',', ')' or identifier")
        values = self._identifiers()
        self._take()  # the ")" at which the list ended
        return values

    def _identifiers(self) -> set[str]:
        """Return a list of identifiers; an empty place between, before or after commas is the empty string."""
        values: set[str] = set()
        while True:
            kind, literal = self._take()
            following, following_literal = self._peek()
            if kind == _IDENTIFIER:
                values.add(literal)
                if following == ")":
                    return values
                if following != ",":
                    raise SelectorError(f"found '{following_literal}', expected: ',' or ')'")
            elif kind == ",":
                if not values or following in (",", ")"):
                    values.add("")
                if following == ")":
                    return values
            else:
                raise SelectorError(f"found '{literal}', expected: ',', or identifier")

    def _exact_value(self) -> set[str]:
        if self._peek()[0] in (_END, ","):
            return {""}
        kind, literal = self._take()
        if kind != _IDENTIFIER:
            raise SelectorError(f"found '{literal}', expected: identifier")
        return {literal}

    def _peek(self) -> tuple[str, str]:
        """Return the next token where a value may stand: `in` and `notin` are ordinary words there."""
        kind, literal = self._tokens[min(self._position, len(self._tokens) - 1)]
        return (_IDENTIFIER, literal) if kind in _KEYWORDS else (kind, literal)

    def _take(self) -> tuple[str, str]:
        token = self._peek()
        self._position += 1
        return token
