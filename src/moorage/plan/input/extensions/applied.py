"""Collect what policies and webhooks did to the objects of a plan: once for each workload, not for each of its pods.

What a policy refuses is noted where the object or workload is; here are changes, warnings, webhooks that were not
called, and policies that were not applied for want of their parameters.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.extension.remarks import Change, NotCalled
from moorage.admit.raw import Raw
from moorage.lint.finding import Severity
from moorage.lint.policies.judge import not_called_text
from moorage.lint.policies.offline_extensions import LeftOut, OfflineExtensions
from moorage.plan.input.inventory import NOWHERE, Inventory, Key, Note, note_at

_MAX_KEPT = 10_000
_MAX_SHOWN, _MAX_LETTERS = 6, 80


class Applied(NamedTuple):
    """What policies and webhooks were applied to: an object, or the pods of a workload."""

    key: Key
    are_pods: bool = False


class AppliedExtensions:
    """What was remarked on requests. `find` tells what a request is about."""

    def __init__(self, find: Callable[[ExtendedRequest], Applied]) -> None:
        self._find = find
        #: By object or workload, and by policy or webhook: the first change.
        self.changes: dict[Applied, dict[str, Change]] = {}
        self.warnings: dict[tuple[Applied, str], None] = {}
        self.not_called: Counter[NotCalled] = Counter()

    def note(self, extended: ExtendedRequest) -> None:
        remarks = extended.remarks
        if remarks.not_called:
            self.not_called.update(set(remarks.not_called))
        if not remarks.changes and not remarks.warnings:
            return
        applied = self._find(extended)
        for change in remarks.changes:
            if len(self.changes) < _MAX_KEPT or applied in self.changes:
                self.changes.setdefault(applied, {}).setdefault(change.source, change)
        policies = {failure.message for failure in remarks.failures if "Warn" in failure.actions}
        for warning in extended.warnings:
            if len(self.warnings) < _MAX_KEPT and any(text in warning for text in policies):
                self.warnings[applied, warning] = None
        for told in remarks.webhook_warnings:
            if len(self.warnings) < _MAX_KEPT:
                self.warnings[applied, f"webhook {told.webhook} warns: {told.text}"] = None

    def clear(self) -> None:
        """Forget what was collected."""
        self.changes, self.warnings = {}, {}
        self.not_called = Counter()

    def notes(self, inventory: Inventory) -> Iterator[Note]:
        """Note changes and warnings, each policy once for each workload."""
        for applied, changes in self.changes.items():
            who = "its pods are" if applied.are_pods else "is"
            for change in changes.values():
                text = f"{who} changed by {change.source}: {describe_patch(change.patch)}"
                yield _note(Severity.INFO, applied.key, text, inventory)
        for (key, are_pods), warning in self.warnings:
            yield _note(Severity.WARNING, key, f"its pods: {warning}" if are_pods else warning, inventory)


def notes_of_gaps(
    not_called: Mapping[NotCalled, int], left_out: Iterable[LeftOut], extensions: OfflineExtensions
) -> Iterator[Note]:
    """Note what a cluster would have done besides: webhooks it would call, policies whose parameters it may have."""
    for webhook, count in not_called.items():
        yield Note(Severity.WARNING, "", not_called_text(webhook, count, extensions))
    for missing in left_out:
        yield Note(Severity.WARNING, "", missing.text)


def _note(level: Severity, key: Key, text: str, inventory: Inventory) -> Note:
    item = inventory.items.get(key)
    return note_at(level, str(key), text, NOWHERE if item is None else item.place)


def describe_patch(patch: Sequence[Raw]) -> str:
    """Say what a JSON patch changes: `adds spec.replicas 3, removes metadata.labels.x`."""
    shown = [_describe(operation) for operation in patch[:_MAX_SHOWN]]
    more = len(patch) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


_VERBS = {"add": "adds", "replace": "sets", "remove": "removes"}


def _describe(operation: Raw) -> str:
    path = field_path(str(operation.get("path", "")))
    verb = _VERBS.get(str(operation.get("op")), str(operation.get("op")))
    if "value" not in operation:
        return f"{verb} {path}"
    value = msgspec.json.encode(operation["value"]).decode()
    shown = value if len(value) <= _MAX_LETTERS else f"{value[: _MAX_LETTERS - 1]}…"
    return f"{verb} {path} {'to ' if verb == 'sets' else ''}{shown}"


def field_path(pointer: str) -> str:
    """Return a JSON pointer as findings write paths: `spec.containers[0].image`, `metadata.labels[a.b/c]`."""
    path = ""
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if name.isdigit() or name == "-":
            path += f"[{name}]" if name != "-" else "[+]"
        elif name.replace("-", "").isidentifier():
            path += f".{name}" if path else name
        else:
            path += f"[{name}]"
    return path or "the object"
