"""Label selectors, string form: `a in (x,y),!b,c!=d,e>5` → a matcher over label sets.

In: what people type after `kubectl -l`, or send as `?labelSelector=`. Out: a `Selector`, or `SelectorError` in
Kubernetes' words. Kubernetes: labels.Parse (lexer and parser in apimachinery/pkg/labels/selector.go).
"""

import re

from moorage.match.label_selector import Selector, conjunction
from moorage.match.requirement import (
    BINARY_OPERATORS,
    DOES_NOT_EXIST,
    EXISTS,
    IN,
    NOT_IN,
    Requirement,
    SelectorError,
    compile_requirement,
)
from moorage.model.field_error import invalid
from moorage.model.names import label_key_errors

_END, _IDENTIFIER = "end", "identifier"
_KEYWORDS = frozenset({"in", "notin"})
_SYMBOLS = frozenset({")", ",", "!", "==", "=", ">", "<", "!=", "("})
_BINARY_TOKENS = {"in": "in", "notin": "notin", "=": "=", "==": "==", "!=": "!=", ">": "gt", "<": "lt"}
_NOWHERE = "<nil>"  # how Go prints the path of a selector that is no field of an object

#: Blanks, then a run of symbols or of anything else. A NUL ends the token before it, or else the text, as in Go.
_lexeme = re.compile(r"[ \t\r\n]*(?:([=!(),><]+)|([^=!(),>< \t\r\n\0]+))").match


def parse_selector(text: str) -> Selector:
    """Parse and compile, or raise `SelectorError` with the parser's text."""
    return conjunction(_Parser(_tokens(text)).selector())


def _tokens(text: str) -> list[tuple[str, str]]:
    """(kind, literal) for each token; symbols and keywords are their own kind."""
    tokens: list[tuple[str, str]] = []
    position = 0
    while (found := _lexeme(text, position)) is not None:
        symbols, word = found.groups()
        if symbols is None:
            tokens.append((word if word in _KEYWORDS else _IDENTIFIER, word))
            position = found.end()
        else:
            literal = _longest_symbol(symbols)
            tokens.append((literal, literal))
            position = found.start(1) + len(literal)
        if text[position : position + 1] == "\0":
            position += 1
    return [*tokens, (_END, "")]


def _longest_symbol(symbols: str) -> str:
    return symbols[:2] if symbols[:2] in _SYMBOLS else symbols[0]


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
