"""Read mail addresses as the format `email` of a schema does, in one pass over the text.

Kubernetes: Go's net/mail.ParseAddress (RFC 5322): `a@b.c`, `Name <a@b.c>`, quoted local parts, comments, groups of one.
Differs: encoded words in names are not decoded.
"""

from moorage.match.cel.libraries.ip_address import AddressError, parse_address
from moorage.model.text.readers import reads_text

_SPECIAL = frozenset('()[];@\\,<>":')
_SPACE = " \t"


class _NotAnAddressError(Exception):
    pass


@reads_text("a", ".", "@", "<", ">", "(", ")", '"', "\\", " ", ":", ";", ",", "[", "]", "1")
def is_email(text: str) -> bool:
    """Return whether the text is one mail address."""
    reader = _Reader(text)
    try:
        addresses = reader.read_address(groups=True)
        reader.skip_comments()
    except _NotAnAddressError:
        return False
    return addresses == 1 and reader.is_at_end


class _Reader:
    """A place in the text. Methods that read raise _NotAnAddressError."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    @property
    def is_at_end(self) -> bool:
        return self._at >= len(self._text)

    def _starts(self, letter: str) -> bool:
        return self._text.startswith(letter, self._at)

    def read_address(self, *, groups: bool) -> int:
        """Read an address, or a group if those are allowed. Returns how many addresses that is."""
        self._skip_space()
        before = self._at
        try:
            self._read_plain_address()
        except _NotAnAddressError:
            self._at = before
        else:
            self._skip_space()
            if self._starts("("):
                self._read_comment()
            return 1
        if not self._starts("<"):
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
        while self._starts("("):
            self._read_comment()
            self._skip_space()

    def _read_group(self) -> int:
        self._skip_space()
        if self._consume(";"):
            return 0
        count = 0
        while True:
            self._skip_space()
            count += self.read_address(groups=False)
            self.skip_comments()
            if self._consume(";"):
                self.skip_comments()
                return count
            self._expect(",")

    def _read_plain_address(self) -> None:
        self._skip_space()
        if self._starts('"'):
            if self._read_quoted() == 0:
                raise _NotAnAddressError
        else:
            self._read_atom(strict=True)
        self._expect("@")
        self._skip_space()
        if self._starts("["):
            self._read_literal()
        else:
            self._read_atom(strict=True)

    def _read_phrase(self) -> None:
        words = 0
        while not self.is_at_end:
            if words:
                self.skip_comments()
            self._skip_space()
            before = self._at
            try:
                if self._starts('"'):
                    self._read_quoted()
                else:
                    self._read_atom(strict=False)
            except _NotAnAddressError:
                self._at = before
                break
            words += 1
        if not words:
            raise _NotAnAddressError

    def _read_atom(self, *, strict: bool) -> None:
        end = self._at
        while end < len(self._text) and _is_atom_letter(self._text[end]):
            end += 1
        atom = self._text[self._at : end]
        if not atom or (strict and (atom[0] == "." or atom[-1] == "." or ".." in atom)):
            raise _NotAnAddressError
        self._at = end

    def _read_quoted(self) -> int:
        """Read a quoted string. Returns its length."""
        at, length = self._at + 1, 0
        while at < len(self._text):
            letter = self._text[at]
            if letter == '"':
                self._at = at + 1
                return length
            if letter == "\\":
                at += 1
                letter = self._text[at : at + 1]
            if not letter or not (_is_visible(letter) or letter in _SPACE):
                raise _NotAnAddressError
            at, length = at + 1, length + 1
        raise _NotAnAddressError

    def _read_literal(self) -> None:
        end = self._text.find("]", self._at)
        try:
            address = parse_address(self._text[self._at + 1 : end])
        except AddressError:
            raise _NotAnAddressError from None
        if end < 0 or address.zone:
            raise _NotAnAddressError
        self._at = end + 1

    def _read_comment(self) -> None:
        depth, at = 0, self._at
        while at < len(self._text):
            letter = self._text[at]
            depth += (letter == "(") - (letter == ")")
            at += 2 if letter == "\\" else 1
            if depth == 0:
                self._at = at
                return
        raise _NotAnAddressError

    def _skip_space(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in _SPACE:
            self._at += 1

    def _consume(self, letter: str) -> bool:
        if not self._starts(letter):
            return False
        self._at += 1
        return True

    def _expect(self, letter: str) -> None:
        if not self._consume(letter):
            raise _NotAnAddressError


def _is_visible(letter: str) -> bool:
    return "!" <= letter <= "~" or letter >= "\x80"


def _is_atom_letter(letter: str) -> bool:
    return letter not in _SPECIAL and _is_visible(letter)
