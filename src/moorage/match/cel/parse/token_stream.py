"""Tokens one after the other, and what happens when one of them is not what was wanted.

In comes a `Source`; the parser takes tokens and says what it expects. A single superfluous token is left out; a closing
token that is merely missing is imagined; otherwise an issue is noted and tokens are skipped up to one that an enclosing
rule can go on with. While that happens no further issues are noted, until a token fits again. Kubernetes: ANTLR's
default error strategy, as cel-go's parser uses it: the places of all errors are the same, the words are fewer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.match.cel.parse.lexer import Token, tokenize
from moorage.match.cel.parse.syntax import Literal, Node

if TYPE_CHECKING:
    from moorage.match.cel.parse.syntax import Issue, Source

MAX_SYNTAX_ERRORS = 100
STARTS = frozenset(
    ("[", "{", "(", ".", "-", "!", "true", "false", "null", "float", "int", "uint", "string", "bytes", "ident")
)
# What may follow an operand, apart from what closes the construct it is in.
_OPERATORS = frozenset(("==", "!=", "<", "<=", ">", ">=", "in", "+", "-", "*", "/", "%", "&&", "||", "?", "eof"))
_SELECTORS = frozenset((".", "["))


class Mismatch(Exception):
    """A token was not the one wanted, and no repair is at hand: the enclosing rule ends here."""


class TooManyErrors(Exception):
    """Parsing was given up; carries all issues noted until then."""

    def __init__(self, issues: list[Issue]) -> None:
        super().__init__("too many errors")
        self.issues = issues


class TokenStream:
    """The tokens of a source, the present one in `token`, and the issues noted so far."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens, errors = tokenize(source.text)
        self.index = 0
        self.token = self.tokens[0]
        self.issues: list[Issue] = []
        # Tokens that enclosing rules are waiting for, outermost first.
        self.awaited: list[frozenset[str]] = []
        self.recovering = False
        for error in errors:
            self.note(error.position, f"token recognition error at: '{_escape(error.text)}'")

    def note(self, position: int, message: str) -> None:
        """Note a syntax error; too many of them end it all."""
        if len(self.issues) >= MAX_SYNTAX_ERRORS:
            message = f"More than {MAX_SYNTAX_ERRORS} syntax errors"
            self.issues.append(self.source.issue(position, f"Syntax error: {message}"))
            raise TooManyErrors(self.issues)
        self.issues.append(self.source.issue(position, f"Syntax error: {message}"))

    def complain(self, message: str) -> None:
        """Note a syntax error at the present token, unless it is a consequence of the last one."""
        if not self.recovering:
            self.note(self.token.position, message)
            self.recovering = True

    def issue(self, position: int, message: str) -> Node:
        """Note something wrong that is no syntax error, and give something to go on with."""
        self.issues.append(self.source.issue(position, message))
        return Literal(position, None)

    def advance(self) -> Token:
        """Take the present token."""
        token = self.token
        self.recovering = False
        self.skip()
        return token

    def skip(self) -> None:
        if self.token.kind != "eof":
            self.index += 1
            self.token = self.tokens[self.index]

    def following(self) -> str:
        """Return the kind of the token after the present one."""
        return self.tokens[min(self.index + 1, len(self.tokens) - 1)].kind

    def accept(self, kind: str) -> bool:
        """Take the present token if it is of this kind."""
        if self.token.kind == kind:
            self.advance()
            return True
        return False

    def expect(self, kind: str) -> Token:
        """Take a token of this kind, repairing the source around it if need be."""
        if self.token.kind == kind:
            return self.advance()
        if self.token.kind != "eof" and self.following() == kind:
            self.complain(f"extraneous input '{self.token.text}' expecting '{kind}'")
            self.skip()
            return self.advance()
        missing = Token(kind, f"<missing {kind}>", self.token.position)
        if self.token.kind in (STARTS if kind == ":" else self.after_operand() if kind in ")]}" else ()):
            self.complain(f"missing '{kind}' at '{self.token.text}'")
            return missing
        self.complain(f"mismatched input '{self.token.text}' expecting '{kind}'")
        raise Mismatch

    def close(self, bracket: str) -> None:
        """Take the end of a list or map, after a comma or not."""
        wanted = (",", bracket)
        if self.token.kind not in wanted and self.token.kind != "eof" and self.following() in wanted:
            self.complain(f"extraneous input '{self.token.text}' expecting '{bracket}'")
            self.skip()
        self.accept(",")
        self.expect(bracket)

    def after_operand(self) -> frozenset[str]:
        """Return all that may follow a complete operand here."""
        return _OPERATORS.union(_SELECTORS, *self.awaited)

    def recover(self, selectable: bool) -> None:
        """Skip to a token that some enclosing rule can go on with."""
        known = _OPERATORS.union(_SELECTORS if selectable else (), *self.awaited)
        while self.token.kind not in known:
            self.skip()


def _escape(text: str) -> str:
    return text.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
