"""Parse and make changes of nodes: taints and labels as kubectl writes them, and new nodes.

A change is for one node, for all of them (`*`), or for those with a label (`{pool=spot}`). What the API server
refuses is a `ChangeError` in its words.
"""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from itertools import count
from typing import Any, TypeVar

import msgspec

from moorage.admit.raw import Raw
from moorage.client.protocol import Object
from moorage.model.api_error import ApiError
from moorage.model.go.times import DurationError, parse_duration
from moorage.model.kinds import KINDS
from moorage.model.types.node import Taint
from moorage.model.well_known.labels import HOSTNAME
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE
from moorage.plan.simulation.loading import MAX_PODS
from moorage.plan.simulation.simulation import Simulation
from moorage.run.node_objects import node_status
from moorage.usage.annotations import read_courses
from moorage.usage.courses import CourseError

MAX_NODES = 10_000
MAX_SECONDS = 366 * 24 * 3600
_MAX_DIGITS = 12
_replace = msgspec.structs.replace
EFFECTS = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
_T = TypeVar("_T")


class ChangeError(ValueError):
    """A change that cannot be made, with the reason."""


class UnreadableChange(ChangeError):
    """Manifests to apply that cannot be read or have no object: a line for each, with path and reason."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = list(lines)
        super().__init__("; ".join(self.lines))


ALL_NODES = "*"


def with_label(key: str, value: str) -> str:
    """Return how the nodes with a label are named."""
    return f"{{{key}={value}}}"


class TaintChange(msgspec.Struct, frozen=True):
    """A taint to add to nodes, in the place of one with the same key and effect."""

    node: str
    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"taint {nodes_text(self.node)} with {self.key}{self.value and f'={self.value}'}:{self.effect}"


class UntaintChange(msgspec.Struct, frozen=True):
    """Taints to remove from nodes: those of a key, or of a key and an effect."""

    node: str
    key: str
    effect: str

    def __str__(self) -> str:
        return f"remove taint {self.key}{self.effect and f':{self.effect}'} from {nodes_text(self.node)}"


class LabelChange(msgspec.Struct, frozen=True):
    """A label to give to nodes, or to take from them if there is no value."""

    node: str
    key: str
    value: str | None

    def __str__(self) -> str:
        if self.value is None:
            return f"remove label {self.key} from {nodes_text(self.node)}"
        return f"label {nodes_text(self.node)} with {self.key}={self.value}"


def nodes_text(nodes: str) -> str:
    """Return the nodes of a change as its description names them."""
    if nodes == ALL_NODES:
        return "all nodes"
    return f"nodes with label {nodes[1:-1]}" if nodes.startswith("{") else f"node {nodes}"


def _split(text: str) -> tuple[str, str, str]:
    """Split what comes before the first `=`, the nodes, from the rest; a label in braces has one of its own."""
    if text.startswith("{"):
        nodes, brace, rest = text.partition("}=")
        return nodes + "}" if brace else "", "=" if brace else "", rest
    return text.partition("=")


def parse_nodes(text: str) -> str:
    """Return the nodes that an option names: one, `*`, or those with a label in braces. Raises ChangeError."""
    if text.startswith("{") and not (text.endswith("}") and text[1:-1].partition("=")[0] and "=" in text):
        raise ChangeError(f"{text!r} is not of the form {{KEY=VALUE}}")
    return text


def parse_label(text: str) -> LabelChange:
    node, equals, rest = _split(text)
    key, sign, value = rest.partition("=")
    if not sign and key.endswith("-"):
        key, sign = key[:-1], "-"
    if not node or not equals or not key or not sign:
        raise ChangeError(f"{text!r} is not of the form NODE=KEY=VALUE or NODE=KEY-")
    return LabelChange(node, key, value if sign == "=" else None)


def parse_taint(text: str) -> TaintChange:
    node, equals, rest = _split(text)
    body, colon, effect = rest.rpartition(":")
    key, _, value = body.partition("=")
    if not node or not equals or not colon or not key:
        raise ChangeError(f"{text!r} is not of the form NODE=KEY=VALUE:EFFECT or NODE=KEY:EFFECT")
    return TaintChange(node, key, value, _checked_effect(effect, text))


def parse_untaint(text: str) -> UntaintChange:
    node, equals, rest = _split(text)
    key, colon, effect = rest.partition(":")
    if not node or not equals or not key:
        raise ChangeError(f"{text!r} is not of the form NODE=KEY or NODE=KEY:EFFECT")
    return UntaintChange(node, key, _checked_effect(effect, text) if colon else "")


def _checked_effect(effect: str, text: str) -> str:
    if effect not in EFFECTS:
        raise ChangeError(f"{effect!r} in {text!r} is no effect; there are {', '.join(EFFECTS)}")
    return effect


class ScaleChange(msgspec.Struct, frozen=True):
    """Another number of replicas for a workload, named as on the command line."""

    workload: str
    replicas: int

    def __str__(self) -> str:
        return f"scale {self.workload} to {self.replicas}"


class AddedNodes(msgspec.Struct, frozen=True):
    """New nodes that are like one that there is."""

    count: int
    like: str

    def __str__(self) -> str:
        return f"add {self.count} node{'' if self.count == 1 else 's'} like {self.like}"


class LoadChange(msgspec.Struct, frozen=True):
    """A load that the pods of a workload share, named as on the command line."""

    workload: str
    load: str

    def __str__(self) -> str:
        return f"load {self.workload} with {self.load}"


def parse_load(text: str) -> LoadChange:
    workload, equals, load = text.partition("=")
    if not workload or not equals:
        raise ChangeError(f"{text!r} is not of the form KIND/[NAMESPACE/]NAME=cpu=AMOUNT")
    try:
        read_courses(load)
    except CourseError as error:
        raise ChangeError(f"--load {workload}: {error}") from None
    return LoadChange(workload, load)


def parse_scale(text: str) -> ScaleChange:
    workload, equals, replicas = text.rpartition("=")
    if not workload or not equals or not replicas.isascii() or not replicas.isdecimal():
        raise ChangeError(f"{text!r} is not of the form KIND/[NAMESPACE/]NAME=REPLICAS")
    if len(replicas) > _MAX_DIGITS or int(replicas) > MAX_PODS:
        raise ChangeError(f"{text!r} asks for too many replicas: no more than {MAX_PODS:,} are planned")
    return ScaleChange(workload, int(replicas))


def parse_added_nodes(number: int | None, like: str) -> tuple[AddedNodes, ...]:
    """Return the nodes to add, none without a number. Raises ChangeError."""
    if (number is None) != (not like):
        raise ChangeError("--add-nodes and --like go together")
    if number is None:
        return ()
    if not 1 <= number <= MAX_NODES:
        raise ChangeError(f"--add-nodes must be from 1 to {MAX_NODES:,}, not {number}")
    return (AddedNodes(number, like),)


def parse_time(text: str) -> float | None:
    """Return a duration such as `10m` in seconds; None for no text. Raises ChangeError."""
    if not text:
        return None
    try:
        seconds = parse_duration(text) / 1e9
    except DurationError as error:
        raise ChangeError(f"--at: {error}") from None
    if not 0 <= seconds <= MAX_SECONDS:
        raise ChangeError(f"--at must be from 0s to {MAX_SECONDS // 3600}h, not {text}")
    return seconds


def add_nodes(simulation: Simulation, change: AddedNodes) -> None:
    """Add nodes with the labels, taints and capacity of one that there is, each a host of its own. Raises ChangeError.

    What the node controller and `kubectl cordon` have written on that one is left out.
    """
    like = find_node(simulation, change.like)
    for _ in range(change.count):
        copy_node(simulation, like)


def copy_node(simulation: Simulation, like: Object) -> str:
    """Add a node with the labels, taints and capacity of another; return its name."""
    number = next(number for number in count(1) if simulation.world.get(KINDS.NODE, f"{like.name}-{number}") is None)
    name = f"{like.name}-{number}"
    metadata, spec = like.raw["metadata"], like.raw.get("spec") or {}
    labels = {**(metadata.get("labels") or {}), HOSTNAME: name}
    taints = [one for one in spec.get("taints") or () if not one["key"].startswith("node.kubernetes.io/")]
    status = {part: like.raw["status"][part] for part in ("capacity", "allocatable") if part in like.raw["status"]}
    raw = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}
    made = simulation.api.create(KINDS.NODE, {**raw, "spec": {"taints": taints} if taints else {}})
    simulation.ageless.add(made.uid)
    report = node_status(made.view, number, simulation.clock.now, features=simulation.kubelets.features)
    simulation.api.patch(KINDS.NODE, name, "", {"status": report}, "status")
    return name


def taint(simulation: Simulation, change: TaintChange) -> None:
    """Add a taint as `kubectl taint --overwrite` does. Raises ChangeError."""
    writer = _TaintWriter(simulation)
    for node in find_nodes(simulation, change.node):
        writer.write(node, tainted(node.raw, change))


def untaint(simulation: Simulation, change: UntaintChange) -> None:
    """Remove taints. Raises ChangeError."""
    new = [(node, untainted(node.raw, change)) for node in find_nodes(simulation, change.node)]
    fewer = [(node, raw) for node, raw in new if raw is not node.raw]
    if not fewer:
        missing = f"taint {change.key}{change.effect and f':{change.effect}'}"
        raise ChangeError(_nowhere(change.node, missing))
    writer = _TaintWriter(simulation)
    for node, raw in fewer:
        writer.write(node, raw)


def label(simulation: Simulation, change: LabelChange) -> None:
    """Set or remove a label as `kubectl label --overwrite` does. Raises ChangeError."""
    nodes = find_nodes(simulation, change.node)
    if change.value is None:
        nodes = [node for node in nodes if change.key in node.view.metadata.labels]
        if not nodes:
            raise ChangeError(_nowhere(change.node, f"label {change.key}"))
    for node in nodes:
        try:
            simulation.api.patch(KINDS.NODE, node.name, "", label_patch(change))
        except ApiError as error:
            raise ChangeError(error.message) from None


def _nowhere(nodes: str, what: str) -> str:
    if nodes == ALL_NODES or nodes.startswith("{"):
        return f"none of the {nodes_text(nodes).removeprefix('all ')} has {what}"
    return f"node {nodes} has no {what}"


def find_nodes(simulation: Simulation, nodes: str) -> list[Object]:
    """Return the nodes that are meant. Raises ChangeError if there is none."""
    if nodes != ALL_NODES and not nodes.startswith("{"):
        return [find_node(simulation, nodes)]
    found = [node for node in simulation.world.all(KINDS.NODE) if is_meant(node, nodes)]
    if not found:
        raise ChangeError(f"there are no {nodes_text(nodes).removeprefix('all ')} in the input")
    return found


def is_meant(node: Object, nodes: str) -> bool:
    """Return whether a node is the one, or among those, that a change is for."""
    if nodes.startswith("{"):
        key, _, value = nodes[1:-1].partition("=")
        return bool(node.view.metadata.labels.get(key) == value)
    return nodes in (ALL_NODES, node.name)


def find_pod(simulation: Simulation, name: str) -> str:
    """Return the key of a pod that is on a node; without a namespace the plan's is meant. Raises ChangeError."""
    key = name if "/" in name else f"{simulation.settings.namespace}/{name}"
    found = simulation.world.get(KINDS.POD, key)
    if found is None:
        raise ChangeError(f"there is no pod {key!r} in the input")
    if not found.view.spec.nodeName:
        raise ChangeError(f"pod {key!r} is not on a node")
    return key


def find_node(simulation: Simulation, name: str) -> Object:
    """Return a node. Raises ChangeError, with the name that may have been meant."""
    found = simulation.world.get(KINDS.NODE, name)
    if found is None:
        close = get_close_matches(name, [node.name for node in simulation.world.all(KINDS.NODE)], n=1)
        raise ChangeError(f"there is no node {name!r} in the input" + (f"; is it {close[0]}?" if close else ""))
    return found


# -- what becomes of a node's document --------------------------------------------------------------------------------


def tainted(raw: Raw, change: TaintChange) -> Raw:
    """Return a node with a taint, in the place of one with the same key and effect."""
    added = {"key": change.key, "effect": change.effect, **({"value": change.value} if change.value else {})}
    return _with_taints(raw, _with_taint(_taints(raw), added, lambda one: (one.get("key"), one.get("effect"))))


def untainted(raw: Raw, change: UntaintChange) -> Raw:
    """Return a node without some taints; the same document if it has none of them."""
    kept = _others(raw, change.key, change.effect)
    return raw if len(kept) == len(_taints(raw)) else _with_taints(raw, kept)


def label_patch(change: LabelChange) -> Raw:
    """Return the merge patch that sets or removes a label."""
    return {"metadata": {"labels": {change.key: change.value}}}


def with_taint(taints: Iterable[Taint], change: TaintChange) -> list[Taint]:
    """Return the taints of a view likewise."""
    added = Taint(key=change.key, value=change.value, effect=change.effect)
    return _with_taint(taints, added, lambda one: (one.key, one.effect))


def _with_taint(taints: Iterable[_T], added: _T, identity: Callable[[_T], Any]) -> list[_T]:
    """Return the list with one more, which takes the place of the one that it replaces."""
    new = [added if identity(one) == identity(added) else one for one in taints]
    return new if added in new else [*new, added]


def _taints(raw: Raw) -> list[Raw]:
    taints: list[Raw] = (raw.get("spec") or {}).get("taints") or []
    return taints


def _others(raw: Raw, key: str, effect: str) -> list[Raw]:
    return [t for t in _taints(raw) if t.get("key") != key or effect not in ("", t.get("effect"))]


def _with_taints(raw: Raw, taints: list[Raw]) -> Raw:
    return {**raw, "spec": {**(raw.get("spec") or {}), "taints": taints}}


class _TaintWriter:
    """Writes taints. A list that the API server has taken for one node is put into others without asking it again."""

    def __init__(self, simulation: Simulation) -> None:
        self._api = simulation.api
        self._taken: dict[bytes, tuple[list[Raw], tuple[Taint, ...]]] = {}

    def write(self, node: Object, raw: Raw) -> None:
        """Write a document that differs by its taints only. Raises ChangeError."""
        key = msgspec.json.encode(_taints(raw))
        known = self._taken.get(key)
        if known is None or not known[0] or node.view.metadata.deletionTimestamp is not None:
            try:
                made = self._api.update(KINDS.NODE, raw)
            except ApiError as error:
                raise ChangeError(error.message) from None
            self._taken[key] = _taints(made.raw), made.view.spec.taints
        elif known[0] != _taints(node.raw):
            view = _replace(node.view, spec=_replace(node.view.spec, taints=known[1]))
            self._api.put(KINDS.NODE, _with_taints(raw, known[0]), view)
