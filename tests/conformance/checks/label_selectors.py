"""label_selectors.json: structured and string selectors, their canonical form, and what they match."""

from typing import Any

import msgspec

from moorage.match.label_selector import compile_label_selector, parse_selector
from moorage.match.requirement import SelectorError
from moorage.model.types.meta import LabelSelector


def check_label_selectors(case: dict[str, Any]) -> str | None:
    given, want = case["in"], case["out"]
    got: dict[str, Any]
    try:
        if given["op"] == "parse":
            selector = parse_selector(given["s"])
        else:
            selector = compile_label_selector(msgspec.convert(given["selector"], LabelSelector | None))
    except SelectorError as error:
        got = {"error": str(error)}
    else:
        matches = [selector.match(labels) for labels in given["labelSets"]]
        explained = [selector.explain(labels) is None for labels in given["labelSets"]]
        if matches != explained:
            return f"match {matches} but explain {explained}"
        got = {"error": None, "matches": matches, "string": str(selector)}
    return None if got == want else f"got {got}, want {want}"
