"""Explain why a text is not JSON, in the words of Go's decoder: `invalid character '}' looking for beginning of value`.

Kubernetes: encoding/json (scanner.go), by way of sigs.k8s.io/json.
"""

from moorage.model.go.quoting import go_quote
from moorage.model.text.patterns import Pattern
from moorage.model.text.readers import reads_text

_SPACE = Pattern(rb"[ \t\r\n]*")
_PLAIN = Pattern(rb'[^"\\\x00-\x1f]*')
_HEX = Pattern(rb"[0-9a-fA-F]{0,4}")
_DIGITS = Pattern(rb"[0-9]*")
_LITERALS = {b"t": b"true", b"f": b"false", b"n": b"null"}
_CLOSERS = {b"{": b"}", b"[": b"]"}


class _SyntaxProblem(Exception):
    pass


@reads_text("{", "[", '"a"', ":", ",", "1", "\\\\", "\\u00", "]", "}", " ", "true")
def json_complaint(text: bytes) -> str:
    """Return why Go does not read the text, or an empty string if it does."""
    try:
        _Scanner(text).scan()
    except _SyntaxProblem as problem:
        return str(problem)
    return ""


class _Scanner:
    """A position in the text. Go looks at a space after its end, which ends numbers and is wrong in a literal."""

    def __init__(self, text: bytes) -> None:
        self._text = text + b" "
        self._size = len(text)
        self._at = 0

    def scan(self) -> None:
        """Read one value. Objects and lists that are open are kept by their closing brackets."""
        open_: list[bytes] = []
        while True:
            if self._begins_container(open_):
                continue
            while open_ and not self._goes_on(open_):
                open_.pop()
            if not open_:
                break
        self._skip_space()
        if self._at < self._size:
            self._refuse("after top-level value")

    def _begins_container(self, open_: list[bytes]) -> bool:
        """Read a value. Returns whether it is a container that is not empty, and its first value comes next."""
        first = self._next()
        if first not in _CLOSERS:
            self._scalar(first)
            return False
        self._at += 1
        closer = _CLOSERS[first]
        if self._next() == closer:
            self._at += 1
            return False
        open_.append(closer)
        if closer == b"}":
            self._key()
        return True

    def _goes_on(self, open_: list[bytes]) -> bool:
        """Read what follows a value in a container. Returns whether another value comes."""
        closer, character = open_[-1], self._next()
        if character == closer:
            self._at += 1
            return False
        if character != b",":
            self._refuse("after object key:value pair" if closer == b"}" else "after array element")
        self._at += 1
        if closer == b"}":
            self._key()
        return True

    def _key(self) -> None:
        if self._next() != b'"':
            self._refuse("looking for beginning of object key string")
        self._string()
        if self._next() != b":":
            self._refuse("after object key")
        self._at += 1

    def _scalar(self, first: bytes) -> None:
        if first == b'"':
            self._string()
        elif first in _LITERALS:
            self._literal(_LITERALS[first])
        elif first == b"-" or first.isdigit():
            self._number()
        else:
            self._refuse("looking for beginning of value")

    def _literal(self, word: bytes) -> None:
        for letter in word[1:]:
            self._at += 1
            if self._text[self._at] != letter:
                self._refuse(f"in literal {word.decode()} (expecting '{chr(letter)}')")
        self._at += 1

    def _number(self) -> None:
        if self._here() == b"-":
            self._at += 1
            if not self._here().isdigit():
                self._refuse("in numeric literal")
        if self._here() == b"0":
            self._at += 1
        else:
            self._skip(_DIGITS)
        if self._here() == b".":
            self._at += 1
            self._expect_digits("after decimal point in numeric literal")
        if self._here() in (b"e", b"E"):
            self._at += 1
            if self._here() in (b"+", b"-"):
                self._at += 1
            self._expect_digits("in exponent of numeric literal")

    def _expect_digits(self, where: str) -> None:
        if not self._here().isdigit():
            self._refuse(where)
        self._skip(_DIGITS)

    def _string(self) -> None:
        self._at += 1
        while True:
            self._skip(_PLAIN)
            if self._at >= self._size:
                raise _SyntaxProblem("unexpected end of JSON input")
            character = self._here()
            self._at += 1
            if character == b'"':
                return
            if character != b"\\":
                self._at -= 1
                self._refuse("in string literal")
            self._escape()

    def _escape(self) -> None:
        character = self._here()
        if character not in (b"b", b"f", b"n", b"r", b"t", b"\\", b"/", b'"', b"u"):
            self._refuse("in string escape code")
        self._at += 1
        if character == b"u":
            start = self._at
            self._skip(_HEX)
            if self._at < start + 4:
                self._refuse("in \\u hexadecimal character escape")

    def _next(self) -> bytes:
        """Return the first byte that is no space. Raises _SyntaxProblem at the end of the text."""
        self._skip_space()
        if self._at >= self._size:
            raise _SyntaxProblem("unexpected end of JSON input")
        return self._here()

    def _here(self) -> bytes:
        return self._text[self._at : self._at + 1]

    def _skip_space(self) -> None:
        self._skip(_SPACE)

    def _skip(self, pattern: Pattern[bytes]) -> None:
        skipped = pattern.match_at(self._text, self._at)
        self._at = skipped.end() if skipped else self._at

    def _refuse(self, where: str) -> None:
        letter = chr(self._text[min(self._at, self._size)])
        shown = {"'": "'\\''", '"': "'\"'"}.get(letter) or f"'{go_quote(letter)[1:-1]}'"
        raise _SyntaxProblem(f"invalid character {shown} {where}")
