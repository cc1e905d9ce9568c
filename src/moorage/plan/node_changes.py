"""Parse and make changes of nodes: taints as `kubectl taint` writes them, and new nodes.

What the API server refuses is a `ChangeError` in its words.
"""

from difflib import get_close_matches
from itertools import count, islice

import msgspec

from moorage.admit.raw import Raw
from moorage.client.protocol import Object
from moorage.model.api_error import ApiError
from moorage.model.go.durations import DurationError, parse_duration
from moorage.plan.simulation.api import NODE
from moorage.plan.simulation.loading import MAX_PODS
from moorage.plan.simulation.simulation import Simulation
from moorage.run.node_objects import node_status

MAX_NODES = 10_000
MAX_SECONDS = 366 * 24 * 3600
_MAX_DIGITS = 12
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


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
    return TaintChange(node, key, value, _checked_effect(effect, text))


def parse_untaint(text: str) -> UntaintChange:
    node, equals, rest = text.partition("=")
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
    numbers = (number for number in count(1) if simulation.world.get(NODE, f"{change.like}-{number}") is None)
    for number in islice(numbers, change.count):
        name = f"{change.like}-{number}"
        metadata, spec = like.raw["metadata"], like.raw.get("spec") or {}
        labels = {**(metadata.get("labels") or {}), "kubernetes.io/hostname": name}
        taints = [one for one in spec.get("taints") or () if not one["key"].startswith("node.kubernetes.io/")]
        status = {part: like.raw["status"][part] for part in ("capacity", "allocatable") if part in like.raw["status"]}
        raw = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}
        made = simulation.api.create(NODE, {**raw, "spec": {"taints": taints} if taints else {}})
        report = node_status(made.view, number, simulation.clock.now)
        simulation.api.patch(NODE, name, "", {"status": report}, "status")


def taint(simulation: Simulation, change: TaintChange) -> None:
    """Add a taint as `kubectl taint` does. Raises ChangeError."""
    added = {"key": change.key, "effect": change.effect, **({"value": change.value} if change.value else {})}
    node = find_node(simulation, change.node)
    _write_taints(simulation, node, [*_others(node, change.key, change.effect), added])


def untaint(simulation: Simulation, change: UntaintChange) -> None:
    """Remove taints. Raises ChangeError."""
    node = find_node(simulation, change.node)
    kept = _others(node, change.key, change.effect)
    if len(kept) == len(_taints(node)):
        raise ChangeError(f"node {change.node} has no taint {change.key}{change.effect and f':{change.effect}'}")
    _write_taints(simulation, node, kept)


def find_node(simulation: Simulation, name: str) -> Object:
    """Return a node. Raises ChangeError, with the name that may have been meant."""
    found = simulation.world.get(NODE, name)
    if found is None:
        close = get_close_matches(name, [node.name for node in simulation.world.all(NODE)], n=1)
        raise ChangeError(f"there is no node {name!r} in the input" + (f"; is it {close[0]}?" if close else ""))
    return found


def _taints(node: Object) -> list[Raw]:
    taints: list[Raw] = (node.raw.get("spec") or {}).get("taints") or []
    return taints


def _others(node: Object, key: str, effect: str) -> list[Raw]:
    return [t for t in _taints(node) if t.get("key") != key or effect not in ("", t.get("effect"))]


def _write_taints(simulation: Simulation, node: Object, taints: list[Raw]) -> None:
    spec = {**(node.raw.get("spec") or {}), "taints": taints}
    try:
        simulation.api.update(NODE, {**node.raw, "spec": spec})
    except ApiError as error:
        raise ChangeError(error.message) from None
