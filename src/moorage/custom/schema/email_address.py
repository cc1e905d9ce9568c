"""Mail addresses as Go reads them: `a@b.c`, `Name <a@b.c>`, quoted local parts, comments, groups of one.

Kubernetes: format `email`, by way of Go's net/mail.ParseAddress (RFC 5322). Encoded words in names are not decoded.
"""

from moorage.match.cel.libraries.ip_address import AddressError, parse_address

_SPECIAL = frozenset('()[];@\\,<>":')
_SPACE = " \t"


class _NotAnAddressError(Exception):
    pass


def is_email(text: str) -> bool:
    """Return whether the text is one mail address."""
    reader = _Reader(text)
    try:
        addresses = reader.read_address(groups=True)
        reader.skip_comments()
    except _NotAnAddressError:
        return False
    return addresses == 1 and not reader.rest


class _Reader:
    """What is left of the text. Methods that read raise _NotAnAddressError."""

    def __init__(self, text: str) -> None:
        self.rest = text

    def read_address(self, *, groups: bool) -> int:
        """Read an address, or a group if those are allowed. Returns how many addresses that is."""
        self._skip_space()
        before = self.rest
        try:
            self._read_plain_address()
        except _NotAnAddressError:
            self.rest = before
        else:
            self._skip_space()
            if self.rest.startswith("("):
                self._read_comment()
            return 1
        if not self.rest.startswith("<"):
            self._read_phrase()
        self._skip_space()
        if groups and self._consume(":"):
            return self._read_group()
        self._expect("<")
        self._read_plain_address()
        self._expect(">")
        return 1

    def skip_comments(self) -> None:
        self._skip_space()
        while self.rest.startswith("("):
            self._read_comment()
            self._skip_space()

    def _read_group(self) -> int:
        self._skip_space()
        if self._consume(";"):
            return 0
        found = 0
        while True:
            self._skip_space()
            found += self.read_address(groups=False)
            self.skip_comments()
            if self._consume(";"):
                self.skip_comments()
                return found
            self._expect(",")

    def _read_plain_address(self) -> None:
        self._skip_space()
        if self.rest.startswith('"'):
            if self._read_quoted() == 0:
                raise _NotAnAddressError
        else:
            self._read_atom(strict=True)
        self._expect("@")
        self._skip_space()
        if self.rest.startswith("["):
            self._read_literal()
        else:
            self._read_atom(strict=True)

    def _read_phrase(self) -> None:
        words = 0
        while self.rest:
            if words:
                self.skip_comments()
            self._skip_space()
            before = self.rest
            try:
                if self.rest.startswith('"'):
                    self._read_quoted()
                else:
                    self._read_atom(strict=False)
            except _NotAnAddressError:
                self.rest = before
                break
            words += 1
        if not words:
            raise _NotAnAddressError

    def _read_atom(self, *, strict: bool) -> None:
        end = 0
        while end < len(self.rest) and _is_atom_letter(self.rest[end]):
            end += 1
        atom = self.rest[:end]
        if not atom or (strict and (atom[0] == "." or atom[-1] == "." or ".." in atom)):
            raise _NotAnAddressError
        self.rest = self.rest[end:]

    def _read_quoted(self) -> int:
        """Read a quoted string. Returns its length."""
        at, length = 1, 0
        while at < len(self.rest):
            letter = self.rest[at]
            if letter == '"':
                self.rest = self.rest[at + 1 :]
                return length
            if letter == "\\":
                at += 1
                letter = self.rest[at : at + 1]
            if not letter or not (_is_visible(letter) or letter in _SPACE):
                raise _NotAnAddressError
            at, length = at + 1, length + 1
        raise _NotAnAddressError

    def _read_literal(self) -> None:
        inside, bracket, after = self.rest[1:].partition("]")
        try:
            found = parse_address(inside)
        except AddressError:
            raise _NotAnAddressError from None
        if not bracket or found.zone:
            raise _NotAnAddressError
        self.rest = after

    def _read_comment(self) -> None:
        depth, at = 0, 0
        while at < len(self.rest):
            letter = self.rest[at]
            depth += (letter == "(") - (letter == ")")
            at += 2 if letter == "\\" else 1
            if depth == 0:
                self.rest = self.rest[at:]
                return
        raise _NotAnAddressError

    def _skip_space(self) -> None:
        self.rest = self.rest.lstrip(_SPACE)

    def _consume(self, letter: str) -> bool:
        if not self.rest.startswith(letter):
            return False
        self.rest = self.rest[1:]
        return True

    def _expect(self, letter: str) -> None:
        if not self._consume(letter):
            raise _NotAnAddressError


def _is_visible(letter: str) -> bool:
    return "!" <= letter <= "~" or letter >= "\x80"


def _is_atom_letter(letter: str) -> bool:
    return letter not in _SPECIAL and _is_visible(letter)
