"""Split an expression into tokens, repair the token sequence after syntax errors, and read string literals.

A single superfluous token is left out; a missing closing token is imagined; otherwise an issue is noted and tokens are
skipped up to one that an enclosing rule can go on with. Kubernetes: cel-go parser/gen/CEL.g4, parser/unescape.go and
ANTLR's default error strategy: the places of all errors are the same, the words are fewer.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from moorage.match.cel.parse.syntax import Issue, Literal, Node, Source
from moorage.model.text.readers import reads_text

_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"
_STRING = (
    rf"(?:\"\"\"(?:{_ESCAPE}|[^\\])*?\"\"\"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf"|\"(?:{_ESCAPE}|[^\\\"\n\r])*\"|'(?:{_ESCAPE}|[^\\'\n\r])*')"
)
_RAW_STRING = r"(?:[rR](?:\"\"\"(?s:.*?)\"\"\"|'''(?s:.*?)'''|\"[^\"\n\r]*\"|'[^'\n\r]*'))"

_TOKEN = re.compile(
    rf"""(?P<space>[\t\ \r\n\f]+|//[^\n]*)
    |(?P<string>{_RAW_STRING}|{_STRING})
    |(?P<bytes>[bB](?:{_RAW_STRING}|{_STRING}))
    |(?P<ident>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<op>==|!=|<=|>=|&&|\|\||[<>\[\](){{}}.,\-!?:+*/%])
    |(?P<quoted>`[A-Za-z0-9_.\-/\ ]+`)""",
    re.VERBOSE,
)
# How far the lexer gets into something that turns out not to be a token; the character after it is part of the error.
_UNFINISHED = re.compile(
    rf"\"(?:{_ESCAPE}|[^\\\"\n\r])*(?:\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{{0,3}}|U[0-9a-fA-F]{{0,7}}|[0-3][0-7]?)?)?"
    rf"|'(?:{_ESCAPE}|[^\\'\n\r])*(?:\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{{0,3}}|U[0-9a-fA-F]{{0,7}}|[0-3][0-7]?)?)?"
    r"|`[A-Za-z0-9_.\-/ ]*|[&|=]|"
)
# Words that may name fields but neither variables nor functions.
RESERVED = frozenset(
    re.findall(
        r"\w+",
        "as break const continue else false for function if import in let loop package namespace null return true var "
        "void while",
    )
)
_KEYWORDS = frozenset(("true", "false", "null", "in"))


class Token(NamedTuple):
    """A token.

    Operators and keywords are their own kind; the others are ident, quoted, int, uint, float, string, bytes and eof.
    """

    kind: str
    text: str
    position: int


@reads_text("a", "1", ".", '"', "'", '"""', "\\", "(", "]", " ", "`", "r'''", "0x", "e", "//", "\n")
def tokenize(text: str) -> tuple[list[Token], list[tuple[int, str]]]:
    """Return all tokens, ending with one of kind `eof`, and where which stretches of text are no tokens."""
    tokens: list[Token] = []
    errors: list[tuple[int, str]] = []
    position = 0
    end = len(text)
    match_token = _TOKEN.match
    while position < end:
        match = match_token(text, position)
        if match is None:
            unfinished = _UNFINISHED.match(text, position)
            stop = min((unfinished.end() if unfinished else position) + 1, end)
            errors.append((position, text[position:stop]))
            position = stop
            continue
        kind = match.lastgroup
        stop = match.end()
        if kind == "op" or (kind == "ident" and match.group() in _KEYWORDS):
            word = text[position:stop]
            tokens.append(Token(word, word, position))
        elif kind != "space" and kind is not None:
            tokens.append(Token(kind, text[position:stop], position))
        position = stop
    tokens.append(Token("eof", "<EOF>", end))
    return tokens, errors


MAX_SYNTAX_ERRORS = 100
STARTS = frozenset(
    ("[", "{", "(", ".", "-", "!", "true", "false", "null", "float", "int", "uint", "string", "bytes", "ident")
)
# The same in the words of cel-go's messages.
EXPRESSION = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
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
        self.awaited: list[str] = []
        self.recovering = False
        for position, text in errors:
            self.note(position, f"token recognition error at: '{_escape(text)}'")

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
        token = self.token
        self.recovering = False
        self.skip()
        return token

    def skip(self) -> None:
        if self.token.kind != "eof":
            self.index += 1
            self.token = self.tokens[self.index]

    def following(self) -> str:
        return self.tokens[min(self.index + 1, len(self.tokens) - 1)].kind

    def accept(self, kind: str) -> bool:
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
        expected = (",", bracket)
        shown = f"{{'{bracket}', ','}}"
        if self.token.kind == "eof":
            self.complain(f"mismatched input '{self.token.text}' expecting {shown}")
            raise Mismatch
        if self.token.kind not in expected and self.following() in expected:
            self.complain(f"extraneous input '{self.token.text}' expecting {shown}")
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


_ESCAPE_SEQUENCE = re.compile(
    r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL
)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _body(literal: str) -> tuple[str, bool]:
    raw = literal[0] in "rR"
    if raw:
        literal = literal[1:]
    quotes = 3 if len(literal) >= 6 and literal[:3] in ('"""', "'''") else 1
    return literal[quotes:-quotes], raw


def _code(match: re.Match[str]) -> tuple[int, bool]:
    """Return the number an escape stands for, and whether it is one byte in a bytes literal."""
    hexadecimal, short, long, octal, _ = match.groups()
    if octal is not None:
        return int(octal, 8), True
    return int(hexadecimal or short or long, 16), hexadecimal is not None


def unescape_string(literal: str) -> str:
    body, raw = _body(literal)
    if raw or "\\" not in body:
        return body

    def replace(match: re.Match[str]) -> str:
        if match.group(5) is not None:
            return _SIMPLE.get(match.group(5), match.group(5))
        code, _ = _code(match)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise ValueError("invalid unicode code point")
        return chr(code)

    return _ESCAPE_SEQUENCE.sub(replace, body)


def unescape_bytes(literal: str) -> bytes:
    """Return the value of a bytes literal, written with its leading b."""
    body, raw = _body(literal[1:])
    if raw or "\\" not in body:
        return body.encode("utf-8", "surrogatepass")
    parts: list[bytes] = []
    position = 0
    for match in _ESCAPE_SEQUENCE.finditer(body):
        parts.append(body[position : match.start()].encode("utf-8", "surrogatepass"))
        position = match.end()
        if match.group(5) is not None:
            parts.append(_SIMPLE.get(match.group(5), match.group(5)).encode("utf-8", "surrogatepass"))
            continue
        code, is_byte = _code(match)
        if not is_byte:
            raise ValueError("unable to unescape string")
        parts.append(bytes([code]))
    parts.append(body[position:].encode("utf-8", "surrogatepass"))
    return b"".join(parts)
