"""Find the JSON patch that makes one document of another.

Lists are compared by position, after what they begin and end with alike; so it takes time in proportion to the
documents, and parts that both share are not looked into. It is to be read by people: not always the shortest patch.
"""

from typing import Any

from moorage.model.api_error import Raw
from moorage.model.patch.json_patch import same_json


def json_difference(before: Any, after: Any) -> list[Raw]:
    """Return the operations that turn `before` into `after`; none if they are the same."""
    operations: list[Raw] = []
    _compare(before, after, "", operations)
    return operations


def _compare(before: Any, after: Any, path: str, operations: list[Raw]) -> None:
    if before is after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        _compare_maps(before, after, path, operations)
    elif isinstance(before, list) and isinstance(after, list):
        _compare_lists(before, after, path, operations)
    elif not same_json(before, after):
        operations.append({"op": "replace", "path": path, "value": after})


def _compare_maps(before: Raw, after: Raw, path: str, operations: list[Raw]) -> None:
    for name in before:
        if name not in after:
            operations.append({"op": "remove", "path": _below(path, name)})
    for name, value in after.items():
        if name in before:
            _compare(before[name], value, _below(path, name), operations)
        else:
            operations.append({"op": "add", "path": _below(path, name), "value": value})


def _compare_lists(before: list[Any], after: list[Any], path: str, operations: list[Raw]) -> None:
    start, end = 0, min(len(before), len(after))
    rest = 0  # elements at the end that are alike
    if len(before) != len(after):
        while start < end and same_json(before[start], after[start]):
            start += 1
        while start + rest < end and same_json(before[-1 - rest], after[-1 - rest]):
            rest += 1
    end -= rest
    for index in range(start, end):
        _compare(before[index], after[index], f"{path}/{index}", operations)
    for index in reversed(range(end, len(before) - rest)):
        operations.append({"op": "remove", "path": f"{path}/{index}"})
    for index in range(end, len(after) - rest):
        operations.append({"op": "add", "path": f"{path}/{index}", "value": after[index]})


def _below(path: str, name: str) -> str:
    if "~" in name or "/" in name:
        name = name.replace("~", "~0").replace("/", "~1")
    return f"{path}/{name}"
