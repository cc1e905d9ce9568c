"""Vary what workloads tolerate: the threshold of their toleration, or the share of their pods that has one at all."""

from collections.abc import Iterable, Sequence

import msgspec

from moorage.admit.raw import Raw, copy_document
from moorage.capacity.curving.steps import Axis, CurveStep, bounded
from moorage.client.protocol import Object
from moorage.lint.report.form import counted
from moorage.match.comparison import Comparison
from moorage.match.intervals import Intervals, cells
from moorage.match.operators import TOLERATION, comparison_of, names_in
from moorage.model.kinds import KINDS
from moorage.plan.input.inventory import Inventory, Key
from moorage.plan.node_changes import ChangeError
from moorage.plan.rollout import ROLLED_OUT, find_workload, kind_of_workload
from moorage.plan.simulation.loading import MAX_PODS
from moorage.plan.simulation.simulation import Simulation
from moorage.pools.node_template import Pool

#: Ours: the label that tells the pods of a split workload apart.
ACCEPTS = "capacity.moorage.dev/accepts"
_SUFFIX = "-accepts"
_SPLIT = ("Deployment", "ReplicaSet", "ReplicationController")
_EXISTS = "Exists"


class _Workload(msgspec.Struct, frozen=True):
    """A workload as it would be applied."""

    key: Key
    manifest: Raw

    @property
    def tolerations(self) -> list[Raw]:
        found: list[Raw] = self.manifest["spec"]["template"]["spec"].get("tolerations") or []
        return found

    @property
    def replicas(self) -> int:
        replicas = self.manifest["spec"].get("replicas")
        return 1 if replicas is None else int(replicas)

    def with_tolerations(self, tolerations: Sequence[Raw]) -> Raw:
        changed = copy_document(self.manifest)
        changed["spec"]["template"]["spec"]["tolerations"] = list(tolerations)
        return changed


def threshold_axis(
    simulation: Simulation,
    inventory: Inventory,
    key: str,
    names: Sequence[str],
    operator: str = "",
    pools: Iterable[Pool] = (),
    values: Sequence[str] = (),
) -> Axis:
    """Return the steps of the threshold of workloads for a key. Raises ChangeError.

    It is cut where it begins to accept, or ceases to accept, a value that a node or a pool has.
    """
    workloads = [_read(simulation, find_workload(inventory, name, ROLLED_OUT)) for name in names]
    operator, now = _operator(workloads, key, operator)
    comparison = comparison_of(operator, TOLERATION)
    assert comparison is not None
    for value in values:
        if (why := comparison.unreadable(value)) is not None:
            raise ChangeError(f"{operator} {value}: {why}")
    steps = [
        CurveStep(
            f"{operator} {threshold}",
            text,
            is_now=now == [threshold],
            manifests=tuple(_with_threshold(one, key, operator, threshold) for one in workloads),
        )
        for threshold, text in _thresholds(comparison, _values_of(simulation, key, pools), now, values)
    ]
    kept, left_out = bounded(steps)
    what = f"threshold {operator} of {', '.join(str(one.key) for one in workloads)} for {key}"
    return Axis("threshold", key, what, ", ".join(f"{operator} {value}" for value in now), "toleration", kept, left_out)


def share_axis(
    simulation: Simulation, inventory: Inventory, key: str, names: Sequence[str], toleration: str = ""
) -> Axis:
    """Return the steps of the share of pods that accept a taint: each number of replicas. Raises ChangeError.

    A Deployment is split in two, one of which has the toleration. Without names, all Deployments are. The toleration is
    the one that a workload has, or the one that is given, such as `Lt 10`, or else accepts every value.
    """
    if names:
        keys = [find_workload(inventory, name, _SPLIT) for name in names]
    else:
        keys = [item.key for item in inventory.of_kind(KINDS.DEPLOYMENT.name)]
    workloads = [one for one in (_read(simulation, found) for found in keys) if one.replicas]
    if not workloads:
        raise ChangeError("there is no Deployment with replicas in the input")
    given = _toleration(key, toleration)
    order = _in_turn([one.replicas for one in workloads])
    numbers = [0] * len(workloads)
    steps: list[CurveStep] = []
    for accepting in range(len(order) + 1):
        manifests = tuple(
            manifest
            for one, number in zip(workloads, numbers, strict=True)
            for manifest in _split(one, key, number, given)
        )
        text = f"{accepting:,} of {counted(len(order), 'pod')}"
        steps.append(CurveStep(f"{100 * accepting / len(order):.3g} %", text, manifests=manifests))
        if accepting < len(order):
            numbers[order[accepting]] += 1
    kept, left_out = bounded(steps)
    return Axis("share", key, f"share of pods that accept {key}", "", "accept", kept, left_out)


def _in_turn(sizes: Sequence[int]) -> list[int]:
    """Return whose pod comes next, for all pods: at each moment every workload has had about the same share of its own.

    Raises ChangeError if there are too many pods to make a list of.
    """
    if sum(sizes) > MAX_PODS:
        raise ChangeError(f"the workloads have more than {MAX_PODS:,} pods: name some of them with --workload")
    pods = sorted(((2 * at + 1) / (2 * size), index) for index, size in enumerate(sizes) for at in range(size))
    return [index for _, index in pods]


def _read(simulation: Simulation, key: Key) -> _Workload:
    """Return a workload as the cluster has it, without what a server writes. Raises ChangeError."""
    stored: Object | None = simulation.world.get(kind_of_workload(key.kind), f"{key.namespace}/{key.name}")
    if stored is None:
        raise ChangeError(f"{key} is not in the cluster")
    raw = copy_document(stored.raw)
    metadata = {name: raw["metadata"][name] for name in ("name", "namespace", "labels") if name in raw["metadata"]}
    about = {"apiVersion": stored.kind.api_version, "kind": key.kind}
    return _Workload(key, {**about, "metadata": metadata, "spec": raw["spec"]})


def _operator(workloads: Sequence[_Workload], key: str, operator: str) -> tuple[str, list[str]]:
    """Return the operator whose threshold is varied, and the thresholds there are. Raises ChangeError."""
    compared = {
        (toleration["operator"], toleration.get("value", ""))
        for one in workloads
        for toleration in one.tolerations
        if toleration.get("key") == key and comparison_of(toleration.get("operator", ""), TOLERATION) is not None
    }
    found = sorted({name for name, _ in compared})
    if operator and operator not in found:
        raise ChangeError(f"none of the workloads has a toleration {operator} for {key!r}")
    if not found:
        named = ", ".join(str(one.key) for one in workloads)
        raise ChangeError(f"{named}: no toleration compares {key!r}, so that there is no threshold to vary")
    if not operator and len(found) > 1:
        raise ChangeError(f"the workloads compare {key!r} with {' and '.join(found)}: choose one with --operator")
    chosen = operator or found[0]
    return chosen, sorted({value for name, value in compared if name == chosen})


def _values_of(simulation: Simulation, key: str, pools: Iterable[Pool]) -> set[str]:
    nodes = {
        taint.value for node in simulation.world.all(KINDS.NODE) for taint in node.view.spec.taints if taint.key == key
    }
    templates = (template for pool in pools for template in pool.templates)
    return nodes | {taint.value for template in templates for taint in template.taints if taint.key == key}


def _thresholds(
    comparison: Comparison, actual: Iterable[str], now: Sequence[str], values: Sequence[str]
) -> list[tuple[str, str]]:
    """Return a threshold of each range in which the same values are accepted, with the range in words."""
    kind, found = comparison.kind, list[tuple[str, str]]()
    asked = sorted({kind.read(text): text for text in values}.items())
    for cell in cells(kind.scale, [comparison.accepting(value) for value in sorted(actual)]):
        inside = Intervals(kind.scale, (cell,))
        chosen = [text for value, text in asked if cell.contains(value)]
        nearest = kind.nearest(inside, *now)
        for text in chosen or ([nearest] if nearest is not None else []):
            found.append((text, str(inside)))
    return found


def _with_threshold(workload: _Workload, key: str, operator: str, threshold: str) -> Raw:
    return workload.with_tolerations(
        [
            {**one, "value": threshold} if one.get("key") == key and one.get("operator") == operator else one
            for one in workload.tolerations
        ]
    )


def _toleration(key: str, text: str) -> Raw | None:
    """Read `Lt 10`, `Exists` or `Equal spot`. Raises ChangeError."""
    if not text:
        return None
    operator, _, value = text.strip().partition(" ")
    if operator not in names_in(TOLERATION):
        raise ChangeError(f"{operator!r} is no operator of a toleration; there are {', '.join(names_in(TOLERATION))}")
    if (comparison := comparison_of(operator, TOLERATION)) is not None and (why := comparison.unreadable(value)):
        raise ChangeError(f"--toleration {text}: {why}")
    return {"key": key, "operator": operator, **({"value": value} if value else {})}


def _split(workload: _Workload, key: str, accepting: int, given: Raw | None) -> list[Raw]:
    """Return the manifests of a workload of whose replicas this many accept the taint, and the others do not."""
    others = [one for one in workload.tolerations if one.get("key") != key]
    own = [one for one in workload.tolerations if one.get("key") == key]
    accepts = [*others, *([given] if given is not None else own or [{"key": key, "operator": _EXISTS}])]
    if accepting == workload.replicas:
        return [workload.with_tolerations(accepts)]
    strict = workload.with_tolerations(others)
    strict["spec"]["replicas"] = workload.replicas - accepting
    if not accepting:
        return [strict]
    twin = workload.with_tolerations(accepts)
    twin["metadata"]["name"] += _SUFFIX
    spec = twin["spec"]
    spec["replicas"] = accepting
    labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
    labels[ACCEPTS] = "true"
    selector = spec["selector"]
    (selector if workload.key.kind == "ReplicationController" else selector.setdefault("matchLabels", {}))[ACCEPTS] = (
        "true"
    )
    return [strict, twin]
