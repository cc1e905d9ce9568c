"""Read texts of taints, labels and nodes as numbers and versions, for a page that reads none itself."""

from collections.abc import Iterable
from typing import Any

import msgspec

from moorage.match.comparison import INTEGER, VERSION

#: So many texts are read at once.
MAX_TEXTS = 20_000


def readings(texts: Iterable[str]) -> dict[str, Any]:
    """Return the texts that are numbers, each with about its size, and those that are versions; both in their order.

    Sizes are for colours on a ramp: of large numbers they are not exact, the order is.
    """
    distinct = list(dict.fromkeys(texts))[:MAX_TEXTS]
    numbers = sorted((value, text) for text in distinct if (value := INTEGER.value_of(text)) is not None)
    versions = sorted((value, text) for text in distinct if (value := VERSION.value_of(text)) is not None)
    return {
        "numbers": [[text, float(value)] for value, text in numbers],
        "versions": [text for _, text in versions],
    }


def texts_of(state: dict[str, Any], answers: Iterable[str]) -> Iterable[str]:
    """Yield all values that a saved page may compare: those of its nodes, and of the changes that it shows."""
    for node in state.get("nodes", ()):
        yield from node.get("labels", {}).values()
        yield from (taint["value"] for taint in node.get("taints", ()))
        yield node.get("version", "")
    for question in answers:
        name, _, arguments = question.partition(" ")
        if name == "what-if":
            for change in msgspec.json.decode(arguments).get("changes", ()):
                for what in change.values():
                    if isinstance(what, dict) and isinstance(what.get("value"), str):
                        yield what["value"]
