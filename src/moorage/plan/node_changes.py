"""`NODE=key=value:Effect` and what it means: nodes with other taints, as `kubectl taint` would leave them.

In: the arguments of --taint and --untaint, and a node's item. Out: the node's item after them, admitted as an update,
or `ChangeError` in the API server's words.
"""

import msgspec

from moorage.admit.admission import Rejected, admit
from moorage.admit.raw import Raw, copy_document
from moorage.model.gates import GateSet
from moorage.plan.input.inventory import Item

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
UNSCHEDULABLE_TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


class ChangeError(ValueError):
    """A change that cannot be made, with the reason."""


class TaintChange(msgspec.Struct, frozen=True):
    """A taint to add to a node, in the place of one with the same key and effect."""

    node: str
    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"taint node {self.node} with {self.key}{self.value and f'={self.value}'}:{self.effect}"


class UntaintChange(msgspec.Struct, frozen=True):
    """Taints to remove from a node: those of a key, or of a key and an effect."""

    node: str
    key: str
    effect: str

    def __str__(self) -> str:
        return f"remove taint {self.key}{self.effect and f':{self.effect}'} from node {self.node}"


def parse_taint(text: str) -> TaintChange:
    node, equals, rest = text.partition("=")
    body, colon, effect = rest.rpartition(":")
    key, _, value = body.partition("=")
    if not node or not equals or not colon or not key:
        raise ChangeError(f"{text!r} is not of the form NODE=KEY=VALUE:EFFECT or NODE=KEY:EFFECT")
    if effect not in EFFECTS:
        raise ChangeError(f"{effect!r} in {text!r} is no effect; there are {', '.join(EFFECTS)}")
    return TaintChange(node, key, value, effect)


def parse_untaint(text: str) -> UntaintChange:
    node, equals, rest = text.partition("=")
    key, colon, effect = rest.partition(":")
    if not node or not equals or not key:
        raise ChangeError(f"{text!r} is not of the form NODE=KEY or NODE=KEY:EFFECT")
    if colon and effect not in EFFECTS:
        raise ChangeError(f"{effect!r} in {text!r} is no effect; there are {', '.join(EFFECTS)}")
    return UntaintChange(node, key, effect)


def tainted(item: Item, change: TaintChange, gates: GateSet) -> Item:
    added = {"key": change.key, "effect": change.effect, **({"value": change.value} if change.value else {})}
    return _with_taints(item, [*_others(item, change.key, change.effect), added], gates)


def untainted(item: Item, change: UntaintChange, gates: GateSet) -> Item:
    kept = _others(item, change.key, change.effect)
    if len(kept) == len(_taints(item)):
        raise ChangeError(f"node {change.node} has no taint {change.key}{change.effect and f':{change.effect}'}")
    return _with_taints(item, kept, gates)


def cordoned(item: Item, gates: GateSet) -> Item:
    """The node as `kubectl cordon` leaves it, with the taint that the node controller adds to it."""
    others = _others(item, UNSCHEDULABLE_TAINT["key"], UNSCHEDULABLE_TAINT["effect"])
    return _with_taints(item, [*others, dict(UNSCHEDULABLE_TAINT)], gates, unschedulable=True)


def _taints(item: Item) -> list[Raw]:
    taints: list[Raw] = (item.raw.get("spec") or {}).get("taints") or []
    return taints


def _others(item: Item, key: str, effect: str) -> list[Raw]:
    return [t for t in _taints(item) if t.get("key") != key or effect not in ("", t.get("effect"))]


def _with_taints(item: Item, taints: list[Raw], gates: GateSet, *, unschedulable: bool = False) -> Item:
    raw = copy_document(item.raw)
    raw["spec"] = {**(raw.get("spec") or {}), "taints": taints} | ({"unschedulable": True} if unschedulable else {})
    raw.setdefault("metadata", {}).setdefault("resourceVersion", "1")
    result = admit(raw, raw | {"spec": item.raw.get("spec") or {}}, gates, plugins=())
    if isinstance(result, Rejected):
        raise ChangeError(str(result.status["message"]))
    return Item(item.key, item.kind, result.object, result.view, item.existing, item.place)
