"""Find where aliases stand in a YAML text: a node that is used again has the place of its anchor only.

libyaml's composer puts the anchored node in the place of each alias. In the order of the text, the first visit of a
node is the node itself and every later one an alias, so that the visits and the alias tokens belong together in turn.
"""

from collections.abc import Iterator
from functools import cached_property

import yaml
from yaml import MappingNode, Node, SequenceNode


class AliasPlaces:
    """The aliases of one text, found when the first is asked for."""

    def __init__(self, text: bytes, root: Node) -> None:
        self._text = text
        self._root = root

    def at(self, parent: Node, number: int) -> tuple[int, int] | None:
        """Return line and column (from 0) of the alias that is this child of a node; None if it is no alias.

        Children of a mapping are its keys and values, in turn.
        """
        return self._places.get((id(parent), number))

    @cached_property
    def _places(self) -> dict[tuple[int, int], tuple[int, int]]:
        tokens = self._tokens()
        places: dict[tuple[int, int], tuple[int, int]] = {}
        visited: set[int] = set()
        pending: list[tuple[Node, Node | None, int]] = [(self._root, None, 0)]
        while pending:
            node, parent, number = pending.pop()
            if id(node) in visited:
                place = next(tokens, None)
                if parent is not None and place is not None:
                    places[id(parent), number] = place
                continue
            visited.add(id(node))
            children = children_of(node)
            pending += [(child, node, index) for index, child in reversed(list(enumerate(children)))]
        return places

    def _tokens(self) -> Iterator[tuple[int, int]]:
        start, end = self._root.start_mark.index, self._root.end_mark.index
        try:
            for token in yaml.scan(self._text, Loader=yaml.CSafeLoader):
                if isinstance(token, yaml.AliasToken) and start <= token.start_mark.index < end:
                    yield token.start_mark.line, token.start_mark.column
        except (yaml.YAMLError, UnicodeDecodeError):  # it was read before, so that this does not happen
            return


def children_of(node: Node) -> list[Node]:
    """Return the children of a node in the order of the text."""
    if isinstance(node, MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value) if isinstance(node, SequenceNode) else []
