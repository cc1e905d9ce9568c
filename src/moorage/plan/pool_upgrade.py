"""Play the upgrade of a pool of nodes: cordon, drain, relabel or replace, uncordon, some nodes at a time.

Drains are kubectl's: they honour PodDisruptionBudgets, wait as long as something still happens, and refuse pods without
a controller and pods with an emptyDir volume unless they are told to evict them. Before the next nodes are begun, the
cluster comes to rest. Pods that stay Pending do not stop an upgrade, but the budget that counts them may.
"""

from collections.abc import Iterator, Sequence

import msgspec

from moorage.admit.subresources.pods import covers
from moorage.client.protocol import Object
from moorage.control.framework.workloads import digits, scaled
from moorage.match.label_selector import parse_selector
from moorage.match.requirement import SelectorError
from moorage.model.kinds import KINDS
from moorage.plan.departures import DepartureLog
from moorage.plan.node_changes import ALL_NODES, ChangeError, LabelChange, copy_node, find_node, label
from moorage.plan.pod_lines import why_unplaced
from moorage.plan.simulation.drain import Blocked, complaints, cordon, drain, uncordon
from moorage.plan.simulation.simulation import Simulation


class PoolUpgrade(msgspec.Struct, frozen=True):
    """What to upgrade: nodes by label selector, how many at a time, and what becomes of each."""

    selector: str
    max_unavailable: str = "1"
    labels: tuple[LabelChange, ...] = ()
    replaces: bool = False
    forces: bool = False
    deletes_empty_dirs: bool = False

    def __str__(self) -> str:
        how = "replace" if self.replaces else "upgrade"
        which = "all nodes" if self.selector == ALL_NODES else f"the nodes with {self.selector}"
        labels = "".join(f", {_label_text(one)}" for one in self.labels)
        return f"{how} {which}, {self.max_unavailable} at a time{labels}"


class Move(msgspec.Struct, frozen=True, rename="camel"):
    """A pod that an upgrade evicted, and its successor; `new_node` is empty if that waited when the step ended."""

    pod: str
    node: str
    replaced_by: str = ""
    new_node: str = ""


class UpgradeStep(msgspec.Struct, frozen=True, rename="camel"):
    """Some nodes at once: what was done, from when on in seconds, who moved, and who was Pending after it."""

    number: int
    nodes: tuple[str, ...]
    actions: tuple[str, ...]
    after_seconds: int
    moved: tuple[Move, ...] = ()
    pending: tuple[str, ...] = ()


class Upgrade(msgspec.Struct, rename="camel", kw_only=True):
    """How an upgrade went: its steps, and if it stops, at which node, for which pod and why."""

    pool: str
    nodes: tuple[str, ...]
    max_unavailable: int
    completes: bool = False
    upgraded: tuple[str, ...] = ()
    steps: list[UpgradeStep] = []
    after_seconds: int = 0
    stops_at: str = ""
    blocked: list[str] = []
    message: str = ""


def parse_upgrade(
    pool: str,
    max_unavailable: str | None,
    labels: Sequence[str],
    *,
    replaces: bool,
    forces: bool,
    deletes_empty_dirs: bool,
) -> PoolUpgrade:
    """Read the options of an upgrade. Raises ChangeError."""
    text = pool.strip()
    text = text[1:-1].strip() if text.startswith("{") and text.endswith("}") else text
    if not text:
        raise ChangeError("--upgrade needs the label selector of a pool, such as pool=spot")
    if text != ALL_NODES:
        _selector(text)
    number = "1" if max_unavailable is None else max_unavailable.strip()
    if not digits(number.removesuffix("%")):
        raise ChangeError(f"--max-unavailable must be a number from 1 on, or a percentage such as 25%, not {number!r}")
    if number.endswith("%") and int(number[:-1]) > 100:
        raise ChangeError(f"--max-unavailable must not be greater than 100%, and is {number}")
    changes = tuple(map(_label, labels))
    return PoolUpgrade(text, number, changes, replaces, forces, deletes_empty_dirs)


def is_for_upgraded(text: str) -> bool:
    """Return whether a --label is for each node that is upgraded: KEY=VALUE or KEY-, without a node before it."""
    return not text.startswith("{") and ((text.count("=") == 1 and not text.endswith("-")) or "=" not in text)


def _label(text: str) -> LabelChange:
    key, equals, value = text.partition("=")
    if not equals and key.endswith("-"):
        return LabelChange("", key[:-1], None)
    if not key or not equals:
        raise ChangeError(f"{text!r} is not of the form KEY=VALUE or KEY-")
    return LabelChange("", key, value)


def _label_text(change: LabelChange) -> str:
    return f"remove label {change.key}" if change.value is None else f"label {change.key}={change.value}"


def _selector(text: str) -> object:
    try:
        return parse_selector(text)
    except SelectorError as error:
        raise ChangeError(f"--upgrade {text}: {error}") from None


def upgrade_pool(simulation: Simulation, change: PoolUpgrade) -> Upgrade:
    """Upgrade the nodes of a pool in a simulation. Raises ChangeError."""
    names = _nodes_of(simulation, change.selector)
    limit = change.max_unavailable
    percent = limit.endswith("%")
    at_once = min(len(names), max(1, scaled(limit, len(names), up=False) if percent else int(limit)))
    upgrade = Upgrade(pool=change.selector, nodes=tuple(names), max_unavailable=at_once)
    start = simulation.clock.now
    for first in range(0, len(names), at_once):
        if not _upgrade_some(simulation, change, upgrade, names[first : first + at_once], start):
            break
    upgrade.after_seconds = round(simulation.clock.now - start)
    upgrade.completes = len(upgrade.upgraded) == len(names)
    return upgrade


def _nodes_of(simulation: Simulation, text: str) -> list[str]:
    """Return the nodes of a pool in the order of the input, which those that were changed since have lost elsewhere."""
    slots = simulation.cluster.nodes.slot_of
    nodes = sorted(simulation.world.all(KINDS.NODE), key=lambda node: slots[node.name])
    if text != ALL_NODES:
        selector = parse_selector(text)
        nodes = [node for node in nodes if selector.match(node.view.metadata.labels)]
    if not nodes:
        raise ChangeError(f"there are no nodes with {text} in the input")
    return [node.name for node in nodes]


def _upgrade_some(
    simulation: Simulation, change: PoolUpgrade, upgrade: Upgrade, names: Sequence[str], start: float
) -> bool:
    """Upgrade some nodes at once; return False if their drain does not end."""
    log, seconds = DepartureLog(simulation), round(simulation.clock.now - start)
    were_cordoned = {name for name in names if find_node(simulation, name).view.spec.unschedulable}
    for name in names:
        cordon(simulation, name)
    simulation.work()
    actions = ["cordon"]
    refused = [
        (name, key, why) for name in names for key, why in complaints(simulation, name) if not _takes(change, why)
    ]
    if refused:
        upgrade.stops_at = refused[0][0]
        upgrade.blocked = list(dict.fromkeys(key for _, key, _ in refused))
        upgrade.message = f"kubectl drain {refused[0][0]} refuses {refused[0][1]} without {refused[0][2]}"
    else:
        actions.append("drain")
        blocked = drain(simulation, names)
        left = [pod for name in names for pod in simulation.world.pods_on(name) if _is_leaving(pod)]
        if blocked:
            first = blocked[0]
            upgrade.blocked = [one.pod for one in blocked]
            texts = f"{first.pod} on {first.node}: {first.message}", *_awaited(simulation, first)
            upgrade.message = "; ".join(text.rstrip(".") for text in texts)
            upgrade.stops_at = first.node
        elif left:
            upgrade.blocked, upgrade.stops_at = [pod.key for pod in left], left[0].view.spec.nodeName
            upgrade.message = f"{left[0].key} is still being deleted: the kubelet of its node does not answer"
    if not upgrade.stops_at:
        simulation.settle()
        actions += _finish(simulation, change, names, were_cordoned)
        simulation.settle()
        upgrade.upgraded += tuple(names)
    upgrade.steps.append(
        UpgradeStep(
            number=len(upgrade.steps) + 1,
            nodes=tuple(names),
            actions=tuple(actions),
            after_seconds=seconds,
            moved=tuple(_moves(simulation, log)),
            pending=tuple(pod.key for pod in simulation.pods() if not pod.view.spec.nodeName),
        )
    )
    return not upgrade.stops_at


def _takes(change: PoolUpgrade, why: str) -> bool:
    return change.forces if why.startswith("--force") else change.deletes_empty_dirs


def _is_leaving(pod: Object) -> bool:
    return pod.view.metadata.deletionTimestamp is not None


def _node_of(simulation: Simulation, pod: str) -> str:
    view = simulation.world.view(KINDS.POD, pod)
    return str(view.spec.nodeName) if view is not None else ""


def _finish(
    simulation: Simulation, change: PoolUpgrade, names: Sequence[str], were_cordoned: set[str]
) -> Iterator[str]:
    """Relabel or replace drained nodes and uncordon them, but for those that were cordoned before."""
    for name in names:
        target = name
        if change.replaces:
            target = copy_node(simulation, find_node(simulation, name))
            simulation.api.delete(KINDS.NODE, name)
            yield f"replace {name} by {target}"
        for one in change.labels:
            has_it = one.key in find_node(simulation, target).view.metadata.labels
            if one.value is not None or has_it:
                label(simulation, LabelChange(target, one.key, one.value))
        if not change.replaces and name not in were_cordoned:
            uncordon(simulation, name)
    yield from (_label_text(one) for one in change.labels)
    if not change.replaces and set(names) - were_cordoned:
        yield "uncordon"


def _moves(simulation: Simulation, log: DepartureLog) -> Iterator[Move]:
    departures = list(log.departures())
    log.pair(departures)
    for _, departure in departures:
        yield Move(departure.pod, departure.node, departure.replaced_by, _node_of(simulation, departure.replaced_by))


def _awaited(simulation: Simulation, blocked: Blocked) -> Iterator[str]:
    """Say of each budget of a pod which other pod it misses, and why that stays Pending."""
    namespace = blocked.pod.partition("/")[0]
    for budget in blocked.budgets:
        found = simulation.world.view(KINDS.POD_DISRUPTION_BUDGET, budget.name)
        for other in simulation.world.in_namespace(KINDS.POD, namespace):
            if not other.view.spec.nodeName and covers(found, other.view):
                yield f"{other.key} stays Pending: {why_unplaced(simulation, other)}"
                break
