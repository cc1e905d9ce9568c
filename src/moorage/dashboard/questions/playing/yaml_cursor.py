"""Find out what a cursor in an unfinished YAML text stands in: below which keys, at a key or at a value.

The text need not parse: it is read by indentation, dashes and brackets of the cursor's own line, as people read it.
"""

import re

import msgspec

ITEM = "[]"
#: Fields whose items are texts.
SCALAR_LISTS = frozenset({"values", "matchLabelKeys", "mismatchLabelKeys", "namespaces"})
_LINE = re.compile(r"(?P<indent>[ ]*)(?P<dashes>(?:-[ ]+|-$)*)(?P<content>.*)")
_ENTRY = re.compile(r"""(?P<key>"[^"]*"|'[^']*'|[^\s"'{}\[\],#:][^:{}\[\],]*?)\s*:(?P<gap>\s+|$)(?P<value>.*)""")
_BLOCK = re.compile(r"[|>][0-9+-]*\s*(?:#.*)?$")


class YamlCursor(msgspec.Struct, frozen=True):
    """Where the cursor stands: `path` leads to the mapping or list around it, items are `[]`.

    At a value, `key` is its key, and `typed` the value up to the cursor; else `typed` is the beginning of a key.
    `column` is where that starts; `end_column` is the end of the word that the cursor is in. `siblings` are the scalars
    of the same mapping. `script` is a longer text of several lines, up to the cursor: that of a block scalar.
    """

    path: tuple[str, ...]
    key: str | None
    typed: str
    column: int
    end_column: int
    siblings: dict[str, str]
    quote: str = ""
    script: str | None = None
    in_flow: bool = False


class _Line(msgspec.Struct, frozen=True):
    """A line taken apart: the columns of its dashes, and of its content, from 0."""

    number: int
    dashes: tuple[int, ...]
    column: int
    key: str
    value: str
    is_blank: bool


def _taken_apart(number: int, text: str) -> _Line:
    parts = _LINE.match(text)
    assert parts is not None  # everything is optional
    start = len(parts["indent"])
    dashes = tuple(start + match.start() for match in re.finditer("-", parts["dashes"]))
    column = start + len(parts["dashes"])
    content = parts["content"]
    entry = _ENTRY.match(content)
    is_blank = not content.strip() and not dashes
    if entry is None or content.startswith("#"):
        return _Line(number, dashes, column, "", "", is_blank or content.startswith("#"))
    return _Line(number, dashes, column, entry["key"].strip("\"' "), entry["value"].strip(), False)


def cursor_in(text: str, line: int, column: int) -> YamlCursor:
    """Return what the cursor at this line and column, from 1, stands in."""
    lines = text.split("\n")
    line = min(max(line, 1), len(lines))
    written = lines[line - 1]
    column = min(max(column, 1), len(written) + 1)
    block = _block_around(lines, line, column)
    if block is not None:
        return block
    before = written[: column - 1]
    here = _taken_apart(line, written)
    own = _LINE.match(before)
    assert own is not None
    start = len(own["indent"]) + len(own["dashes"])
    content = own["content"]
    path = _path_to(lines, here, start)
    if path[-1:] == (ITEM,) and len(path) > 1 and not _ENTRY.match(content):
        return _in_items(lines, here, content, start, path, column)
    siblings = _siblings(lines, here, start)
    return _in_content(content, start, path, siblings, written, column)


def _in_items(
    lines: list[str], here: _Line, content: str, start: int, path: tuple[str, ...], column: int
) -> YamlCursor:
    """Return the cursor in an item of a block list, which may be a scalar: its key is that of the list."""
    written = lines[here.number - 1]
    siblings: dict[str, str] = {}
    for number in range(here.number - 1, 0, -1):
        line = _taken_apart(number, lines[number - 1])
        if line.key == path[-2] and not line.value and line.column <= start:
            siblings = _siblings(lines, line, line.column)
            break
    cursor = _in_content(content, start, path, siblings, written, column)
    if path[-2] not in SCALAR_LISTS or cursor.key is not None:
        return msgspec.structs.replace(cursor, siblings=_siblings(lines, here, start))
    quote = content[:1] if content[:1] in ("'", '"') else ""
    end = _end_of_value(written, column, quote)
    return msgspec.structs.replace(cursor, key=path[-2], path=path[:-2], quote=quote, end_column=end)


def _in_content(
    content: str, start: int, path: tuple[str, ...], siblings: dict[str, str], written: str, column: int
) -> YamlCursor:
    end = _end_of_word(written, column)
    entry = _ENTRY.match(content)
    if content[:1] in ("{", "["):
        return _in_flow(content, start, path, siblings, None, end)
    if entry is None or not (entry["gap"] or entry["value"]):
        typed = content.lstrip("\"'")
        return YamlCursor(path, None, typed, start + 1 + len(content) - len(typed), end, siblings)
    key = entry["key"].strip("\"' ")
    value, at = entry["value"], start + entry.start("value")
    if value[:1] in ("{", "["):
        return _in_flow(value, at, path, siblings, key, end)
    quote = value[:1] if value[:1] in ("'", '"') else ""
    typed = value[len(quote) :]
    finish = _end_of_value(written, column, quote)
    return YamlCursor(path, key, typed, at + len(quote) + 1, finish, siblings, quote)


def _in_flow(
    content: str, start: int, path: tuple[str, ...], siblings: dict[str, str], key: str | None, end: int
) -> YamlCursor:
    """Read a flow collection that starts in the line: `{key: a, values: [b, `."""
    steps: list[str] = [*path, *([key] if key is not None else [])]
    open_brackets: list[tuple[str, dict[str, str], str | None]] = []
    current: dict[str, str] = {}
    at_key: str | None = None
    word_start, quote, index = 0, "", 0
    while index < len(content):
        character = content[index]
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "{[":
            if at_key is not None:
                steps.append(at_key)
            if character == "[" or (open_brackets and open_brackets[-1][0] == "["):
                steps += [ITEM] if character == "[" else []
            open_brackets.append((character, current, at_key))
            current, at_key, word_start = {}, None, index + 1
        elif character in "}]" and open_brackets:
            bracket, current, at_key = open_brackets.pop()
            if bracket == "[" and steps:
                steps.pop()
            if at_key is not None and steps:
                steps.pop()
            word_start = index + 1
        elif character == ":" and content[index + 1 : index + 2] in ("", " "):
            at_key, word_start = content[word_start:index].strip(" \"'"), index + 1
        elif character == ",":
            if at_key is not None and open_brackets and open_brackets[-1][0] == "{":
                current[at_key] = content[word_start:index].strip(" \"'")
                at_key = None
            word_start = index + 1
        index += 1
    word = content[word_start:]
    stripped = word.lstrip(" \"'")
    at = start + word_start + len(word) - len(stripped)
    in_list = bool(open_brackets) and open_brackets[-1][0] == "["
    if not open_brackets:
        return YamlCursor(path, None, stripped, at + 1, end, siblings, in_flow=True)
    around = open_brackets[-1][1] if in_list else current
    if in_list:
        # The key of the list is that of the mapping around it: `values: [`.
        owner = open_brackets[-1][2] or (key if len(open_brackets) == 1 else None)
        found = around or (siblings if len(open_brackets) == 1 else {})
        return YamlCursor(tuple(steps), owner, stripped, at + 1, end, found, quote, in_flow=True)
    return YamlCursor(tuple(steps), at_key, stripped, at + 1, end, current, quote, in_flow=True)


def _end_of_word(written: str, column: int) -> int:
    match = re.compile(r"[\w./-]*").match(written, column - 1)
    return column + (len(match[0]) if match else 0)


def _end_of_value(written: str, column: int, quote: str) -> int:
    rest = written[column - 1 :]
    if quote:
        close = rest.find(quote)
        return column + (close if close >= 0 else 0)
    return _end_of_word(written, column)


# -- above ------------------------------------------------------------------------------------------------------------


def _path_to(lines: list[str], here: _Line, start: int) -> tuple[str, ...]:
    """Return the keys and items above a line, outermost first."""
    steps: list[str] = []
    column = start
    in_list = False
    for dash in reversed(here.dashes):
        steps.append(ITEM)
        column, in_list = dash, True
    for number in range(here.number - 1, 0, -1):
        if column < 0:
            break
        line = _taken_apart(number, lines[number - 1])
        if line.is_blank:
            continue
        if in_list and line.dashes and line.dashes[-1] >= column:
            continue  # another item of the same list, or something inside of it
        is_parent = line.column < column or (in_list and line.column == column)
        if line.key and is_parent and not line.value:
            steps.append(line.key)
            column, in_list = line.column, False
        elif line.column > column or not line.dashes:
            continue
        for dash in reversed(line.dashes):
            if dash < column and line.column <= column:
                steps.append(ITEM)
                column, in_list = dash, True
    return tuple(reversed(steps))


def _siblings(lines: list[str], here: _Line, start: int) -> dict[str, str]:
    """Return the scalars of the mapping that a line belongs to."""
    scalars: dict[str, str] = {}
    if not here.dashes:
        for number in range(here.number - 1, 0, -1):
            line = _taken_apart(number, lines[number - 1])
            if line.is_blank or line.column > start:
                continue
            if line.column < start:
                break
            if line.key:
                scalars.setdefault(line.key, line.value.strip("\"'"))
            if line.dashes:
                break
    for number in range(here.number + 1, len(lines) + 1):
        line = _taken_apart(number, lines[number - 1])
        if line.is_blank or line.column > start:
            continue
        if line.column < start or line.dashes:
            break
        if line.key:
            scalars.setdefault(line.key, line.value.strip("\"'"))
    return scalars


def _block_around(lines: list[str], line: int, column: int) -> YamlCursor | None:
    """Return the cursor in a block scalar, if it is in one: its text so far is the script."""
    written = lines[line - 1]
    indent = len(written) - len(written.lstrip(" ")) if written.strip() else column - 1
    smallest = indent
    for number in range(line - 1, 0, -1):
        text = lines[number - 1]
        if not text.strip():
            continue
        spaces = len(text) - len(text.lstrip(" "))
        above = _taken_apart(number, text)
        if above.column < smallest and above.key and _BLOCK.match(above.value):
            body = [*lines[number : line - 1], written[: column - 1]]
            cut = min(
                (len(body_line) - len(body_line.lstrip(" ")) for body_line in body if body_line.strip()), default=0
            )
            script = "\n".join(body_line[cut:] for body_line in body)
            path = _path_to(lines, above, above.column)
            siblings = _siblings(lines, above, above.column)
            end = _end_of_word(written, column)
            return YamlCursor(path, above.key, script, column, end, siblings, script=script)
        if spaces < smallest:
            if above.key or above.dashes:
                return None
            smallest = spaces
    return None
