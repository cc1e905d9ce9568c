"""A map of a JSON text: at which offset each key, item and value stands.

In: text that has already been decoded, so it is valid. Out: a tree of places.
"""

import re
from json.decoder import scanstring  # type: ignore[attr-defined]

_TOKEN = re.compile(r'[\[\]{},:]|"|[^\s\[\]{},:"]+')


class JsonPlace:
    """One value: where it starts, where to point at (its key, if it has one), and its children by step."""

    __slots__ = ("children", "is_list", "shown_at", "value_at")

    def __init__(self, shown_at: int, value_at: int, is_list: bool) -> None:
        self.shown_at = shown_at
        self.value_at = value_at
        self.is_list = is_list
        self.children: dict[str, JsonPlace] = {}

    def child(self, step: str) -> "JsonPlace | None":
        return self.children.get(step)


def place_json(text: str, start: int, levels: int | None = None) -> JsonPlace:
    """The places in the JSON value that begins at `start` (or after white space there), down to so many levels."""
    root: JsonPlace | None = None
    parents: list[JsonPlace] = []
    key: tuple[str, int] | None = None
    at = start
    while True:
        match = _TOKEN.search(text, at)
        if match is None:
            break
        token, begin, at = match[0], match.start(), match.end()
        if token == '"':
            value, at = scanstring(text, at, False)
            if key is None and parents and not parents[-1].is_list:
                key = (value, begin)
                continue
        elif token in ",:":
            continue
        elif token in "]}":
            parents.pop()
            if not parents:
                break
            continue
        place = JsonPlace(begin if key is None else key[1], begin, is_list=token == "[")
        if parents and (levels is None or len(parents) <= levels):
            siblings = parents[-1].children
            siblings[str(len(siblings)) if key is None else key[0]] = place
        key = None
        root = root or place
        if token in "[{":
            parents.append(place)
        elif not parents:
            break
    return root or JsonPlace(start, start, is_list=False)
