"""What differs between an answer and the recorded one.

The recording left out uids, times, revisions and (mostly) managedFields; texts have `<uid>`, `<time>` and `<rv>` there.
"""

import re
from collections.abc import Callable
from typing import Any

from tests.conformance.checks.platform.server import Answer

Raw = dict[str, Any]
Same = Callable[[Any, Any], bool]

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000 UTC)")
_REVISION = re.compile(r'(resourceVersion\\*":\\*")\d+(\\*")')
_SELF_TYPE = re.compile(r"selfType\d+")
_NOT_RECORDED = ("uid", "creationTimestamp", "resourceVersion")


def difference(got: Answer, want: Raw, *, same: Same | None = None, keep_owners: bool = False) -> str | None:
    """Return what differs, or None. `same` compares objects, which are else the same JSON."""
    if got.code != want["code"]:
        return f"got {got.code} {_short(got.document)}, want {want}"
    if want.get("unordered"):
        if sorted(got.warnings) != sorted(want.get("warnings", [])):
            return f"got warnings {got.warnings}, want {want.get('warnings', [])}"
    elif got.warnings != want.get("warnings", []):
        return f"got warnings {got.warnings}, want {want.get('warnings', [])}"
    if got.code >= 400:
        return _refusal_difference(got.document, want)
    if "object" not in want:
        return None
    shown = recorded_form(got.document, keep_owners=keep_owners)
    compare = same or exactly
    return None if compare(shown, want["object"]) else f"got object {shown}, want {want['object']}"


def recorded_form(document: Any, *, keep_owners: bool = False) -> Any:
    """Return an object as the recording shows it."""
    if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
        return document
    metadata = {name: value for name, value in document["metadata"].items() if name not in _NOT_RECORDED}
    owners = metadata.pop("managedFields", None)
    if keep_owners and owners is not None:
        without_time = [{name: value for name, value in entry.items() if name != "time"} for entry in owners]
        names = ("manager", "operation", "apiVersion", "subresource")
        metadata["managedFields"] = sorted(without_time, key=lambda entry: [entry.get(name, "") for name in names])
    if "deletionTimestamp" in metadata:
        metadata["deletionTimestamp"] = "<time>"
    return _without_uids({**document, "metadata": metadata})


def _without_uids(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_uids(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_without_uids(one) for one in value]
    return _UID.sub("<uid>", value) if isinstance(value, str) else value


def masked(text: str) -> str:
    """Return a text without what differs from run to run."""
    text = _REVISION.sub(r"\1<rv>\2", _UID.sub("<uid>", text))
    return _SELF_TYPE.sub("selfType<n>", _TIME.sub("<time>", text))


def exactly(got: Any, want: Any) -> bool:
    """Whether two documents are the same JSON: 1 and 1.0 are, true and 1 are not."""
    if isinstance(got, dict) and isinstance(want, dict):
        return got.keys() == want.keys() and all(exactly(got[name], want[name]) for name in want)
    if isinstance(got, list) and isinstance(want, list):
        return len(got) == len(want) and all(map(exactly, got, want))
    return isinstance(got, bool) is isinstance(want, bool) and bool(got == want)


def _refusal_difference(status: Raw, want: Raw) -> str | None:
    details = status.get("details") or {}
    causes = [_cause(cause) for cause in details.get("causes", ())]
    wanted = [_cause(cause) for cause in want.get("causes", ())]
    if want.get("unordered"):
        causes, wanted = sorted(causes), sorted(wanted)
    if "causes" in want and causes != wanted:
        return f"got causes {causes}, want {wanted}"
    if (status.get("reason") or None) != want.get("reason"):
        return f"got reason {status.get('reason')}, want {want.get('reason')}"
    message = masked(status.get("message", ""))
    if "message" in want and message != masked(want["message"]):
        return f"got message {message!r}, want {want['message']!r}"
    return None


def _cause(cause: Raw) -> tuple[str, str, str]:
    return cause.get("field", ""), cause.get("reason", ""), masked(cause.get("message", ""))


def _short(document: Any) -> str:
    if isinstance(document, dict) and document.get("kind") == "Status":
        return str(document.get("message"))
    return str(document)[:400]
