"""Text → tokens.

In comes the text of an expression; out come tokens (kind, text, offset) and, for what is no token, errors at the offset
where ANTLR reports them, after which lexing goes on behind the offending character. Kubernetes: cel-go
parser/gen/CEL.g4.
"""

from __future__ import annotations

import re
from typing import NamedTuple

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


class LexicalError(NamedTuple):
    """A stretch of text that is no token."""

    position: int
    text: str


def tokenize(text: str) -> tuple[list[Token], list[LexicalError]]:
    """Return all tokens, ending with one of kind `eof`, and all errors."""
    tokens: list[Token] = []
    errors: list[LexicalError] = []
    position = 0
    end = len(text)
    match_token = _TOKEN.match
    while position < end:
        match = match_token(text, position)
        if match is None:
            unfinished = _UNFINISHED.match(text, position)
            stop = min((unfinished.end() if unfinished else position) + 1, end)
            errors.append(LexicalError(position, text[position:stop]))
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
