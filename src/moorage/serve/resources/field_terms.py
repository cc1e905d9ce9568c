"""Split a field selector into its terms: `metadata.name=a,status.phase!=Running`.

What is served and what is authorized read the same terms. Kubernetes: the parser of apimachinery's pkg/fields.
"""

from moorage.model.api_error import bad_request

_ESCAPED = frozenset("\\,=")


def field_terms(text: str) -> list[tuple[str, bool, str]]:
    """Return (field, whether it must be equal, value) for each term. Raises ApiError 400, in Kubernetes' order."""
    terms = []
    for part in sorted(_split(text)):
        if not part:
            continue
        for position, letter in enumerate(part):
            if part.startswith("!=", position):
                terms.append((part[:position], False, _unescaped(part[position + 2 :])))
                break
            if letter == "=":
                start = position + (2 if part.startswith("==", position) else 1)
                terms.append((part[:position], True, _unescaped(part[start:])))
                break
        else:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
    return terms


def _split(text: str) -> list[str]:
    """Split at commas without a backslash before them; escapes stay."""
    parts, start, escaped = [], 0, False
    for position, letter in enumerate(text):
        if escaped:
            escaped = False
        elif letter == "\\":
            escaped = True
        elif letter == ",":
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


def _unescaped(value: str) -> str:
    if _ESCAPED.isdisjoint(value):
        return value
    letters, escaped = [], False
    for letter in value:
        if escaped:
            if letter not in _ESCAPED:
                raise bad_request(f"invalid field selector: invalid escape sequence: \\{letter}")
            letters.append(letter)
            escaped = False
        elif letter == "\\":
            escaped = True
        elif letter in _ESCAPED:
            # Go prints the character as the number it is.
            raise bad_request(f"invalid field selector: unescaped character in value: {ord(letter)}")
        else:
            letters.append(letter)
    if escaped:
        raise bad_request("invalid field selector: invalid escape sequence: \\")
    return "".join(letters)
