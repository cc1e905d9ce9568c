"""Choose the suggestions that help a workload as a whole: each is tried on it, the smallest change first."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar

from msgspec.structs import replace

from moorage.columns.resources import PODS, pod_requests
from moorage.control.framework.world import controller_of
from moorage.model.kinds import KINDS
from moorage.plan.explain.remedies.change import Change, ChangeKind, ObjectPatch, as_yaml
from moorage.plan.explain.remedies.trials import MAX_SUGGESTIONS, Suggestion, Together
from moorage.plan.explain.remedies.workload.carrying_out import template_owner
from moorage.plan.explain.remedies.workload.trials import Effect, WorkloadTrials, shown_worse
from moorage.plan.node_changes import AddedNodes
from moorage.plan.rollout import SCALED, kind_of_workload

_MAX_MODELS = 2
_MAX_OF_PART, _MAX_MOVED = 8, 3  # changes to one part, and other pods to move, that are tried
_MAX_ADDED = 500
_MAX_RECREATED = 6
_RECREATE = (
    "together with strategy: {type: Recreate}, since a rolling update would wait for the old pods; "
    "all of them stop before new ones start"
)


def helping(worked: Iterable[Suggestion], trials: WorkloadTrials) -> list[Suggestion]:
    """Return those after which fewer pods of the workload wait, the smallest change first.

    Of changes to the same part a larger one is kept only if fewer pods wait then, or if it opens more nodes. Where no
    change to a part helps because a rolling update waits for old pods, the smallest is tried with strategy Recreate.
    """
    ordered = sorted(worked, key=_distance)
    kept = _tried(ordered, trials)
    parts = {one.change.part for one in kept}
    smallest: dict[str, Suggestion] = {}
    for one in ordered:
        if one.change.part not in parts and _may_recreate(one.change, trials):
            smallest.setdefault(one.change.part, _recreating(one))
    kept += _tried(list(smallest.values())[:_MAX_RECREATED], trials)
    return in_order(kept)[:MAX_SUGGESTIONS]


def in_order(suggestions: Iterable[Suggestion]) -> list[Suggestion]:
    """Return the suggestions that make no other pod worse off first, then by the distance of the change."""
    return sorted(suggestions, key=lambda one: (bool(one.worse_off), *_distance(one)))


def _tried(ordered: Iterable[Suggestion], trials: WorkloadTrials) -> list[Suggestion]:
    by_part: dict[str, Suggestion] = {}
    tries: Counter[str] = Counter()
    kept: list[Suggestion] = []
    for one in ordered:
        last = by_part.get(one.change.part)
        is_enough = last is not None and not last.pending_after and len(one.nodes) <= len(last.nodes)
        if is_enough or (last is not None and one.change.gone):
            continue
        tries[one.change.part] += 1
        if tries[one.change.part] > (_MAX_MOVED if one.change.gone else _MAX_OF_PART):
            continue
        effect = trials.try_changes(one.change)
        if effect is None or not trials.is_better(effect):
            continue
        suggestion = replace(
            with_effect(one, effect, trials), nodes=one.nodes or effect.nodes, deletes_pending=effect.deleted
        )
        if last is None or suggestion.pending_after < last.pending_after or len(one.nodes) > len(last.nodes):
            by_part[one.change.part] = suggestion
            kept.append(suggestion)
        if len(kept) >= MAX_SUGGESTIONS:
            break
    return kept


def _distance(suggestion: Suggestion) -> tuple[int, float, int]:
    change = suggestion.change
    return change.size, change.move, -len(suggestion.nodes)


_Changed = TypeVar("_Changed", Suggestion, Together)


def with_effect(one: _Changed, effect: Effect, trials: WorkloadTrials) -> _Changed:
    """Return what says how many pods wait before and after, and who is worse off."""
    return replace(
        one,
        pending_before=trials.now.lacking,
        pending_after=effect.lacking,
        worse_off=shown_worse(effect),
        lands_on=effect.landed,
    )


def _may_recreate(change: Change, trials: WorkloadTrials) -> bool:
    if change.pod is None or not trials.are_some_running:
        return False
    owner = template_owner(trials.simulation, trials.pod)
    return owner is not None and owner.kind is KINDS.DEPLOYMENT and owner.view.spec.strategy.type != "Recreate"


def _recreating(one: Suggestion) -> Suggestion:
    note = f"{one.change.note}; {_RECREATE}" if one.change.note else _RECREATE
    return replace(one, change=replace(one.change, recreates=True, note=note, size=one.change.size + 1))


# -- changes of numbers -----------------------------------------------------------------------------------------------


def fewer_replicas(trials: WorkloadTrials) -> Iterator[Suggestion]:
    """Suggest the largest number of replicas that all fit."""
    key = trials.key
    field = "parallelism" if key.kind == "Job" else "replicas"
    if key.kind not in (*SCALED, "Job"):
        return
    kind = kind_of_workload(key.kind)
    owner = trials.simulation.world.get(kind, f"{key.namespace}/{key.name}")
    if owner is None or not trials.now.lacking:
        return
    wanted = getattr(owner.view.spec, field)
    wanted = 1 if wanted is None else int(wanted)
    for number in range(wanted - trials.now.lacking, 0, -1)[:3]:
        patch = ObjectPatch(kind, key.namespace, key.name, {"spec": {field: number}})
        where = f" -n {key.namespace}" if key.namespace != "default" else ""
        command = f"kubectl scale {key.kind.lower()} {key.name}{where} --replicas={number}"
        if key.kind == "Job":
            command = f'kubectl patch job {key.name}{where} -p \'{{"spec":{{"parallelism":{number}}}}}\''
        change = Change(
            ChangeKind.REPLICAS,
            field,
            f"{field} {wanted} → {number}: as many as fit",
            5,
            patches=(patch,),
            yaml=as_yaml({"spec": {field: number}}),
            command=command,
            move=(wanted - number) / wanted,
        )
        effect = trials.try_changes(change)
        if effect is not None and trials.is_solved(effect):
            yield with_effect(Suggestion(change, ()), effect, trials)
            return


def other_strategy(trials: WorkloadTrials) -> Iterator[Suggestion]:
    """Suggest how a rolling update that waits for its old pods can go on: each old pod makes room before a new one."""
    owner = template_owner(trials.simulation, trials.pod)
    if owner is None or owner.kind is not KINDS.DEPLOYMENT or owner.view.spec.strategy.type == "Recreate":
        return
    sets = trials.simulation.world.in_namespace(KINDS.REPLICA_SET, owner.namespace)
    mine = [one for one in sets if (above := controller_of(one.view.metadata)) is not None and above.uid == owner.uid]
    if sum(bool(one.view.spec.replicas) for one in mine) < 2:
        return
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    strategies = (
        (rolling, "maxSurge 0, maxUnavailable 1: an old pod makes room before each new one", 2),
        ({"type": "Recreate", "rollingUpdate": None}, "Recreate: all old pods stop before new ones start", 4),
    )
    for strategy, text, size in strategies:
        patch = ObjectPatch(KINDS.DEPLOYMENT, owner.namespace, owner.name, {"spec": {"strategy": strategy}})
        written = {name: value for name, value in strategy.items() if value is not None}
        change = Change(
            ChangeKind.STRATEGY,
            "strategy",
            f"strategy {text}",
            size,
            patches=(patch,),
            yaml=as_yaml({"spec": {"strategy": written}}),
        )
        effect = trials.try_changes(change)
        if effect is not None and trials.is_better(effect):
            yield with_effect(Suggestion(change, ()), effect, trials)
            return


def more_nodes(trials: WorkloadTrials, models: Iterable[str]) -> Iterator[Suggestion]:
    """Suggest the smallest number of nodes like one that there is with which all pods fit.

    The number that the requests ask for is tried first, and whether one less would do.
    """
    for like in list(models)[:_MAX_MODELS]:
        most = min(trials.now.lacking or trials.now.harmed, _MAX_ADDED)
        on_each = _pods_on_empty(trials, like)
        if not on_each:
            continue
        best, low, high, number = None, 1, most, min(-(-most // on_each), most)
        while low <= high and not trials.ran_out:
            found = _added(trials, like, number)
            if found is not None:
                is_first, best, high = best is None, found, number - 1
                number = high if is_first else (low + high) // 2
            elif best is None and number == most:
                break
            else:
                low = number + 1
                number = most if best is None else (low + high) // 2
        if best is not None and not trials.ran_out:
            yield best


def _pods_on_empty(trials: WorkloadTrials, like: str) -> int:
    """Return how many pods of the workload have room on an empty node, as far as their requests are known."""
    nodes = trials.simulation.cluster.nodes
    slot, requests = nodes.slot_of[like], pod_requests(trials.before.spec)
    rooms = [int(nodes.allocatable(name)[slot]) // value for name, value in requests.items() if value > 0]
    return min([int(nodes.allocatable(PODS)[slot]), *rooms])


def _added(trials: WorkloadTrials, like: str, number: int) -> Suggestion | None:
    change = Change(
        ChangeKind.MORE_NODES,
        f"nodes like {like}",
        f"{number} more node{'s' if number > 1 else ''} like {like}",
        9,
        added=AddedNodes(number, like),
        move=number,
    )
    effect = trials.try_changes(change)
    is_enough = effect is not None and trials.is_solved(effect)
    return with_effect(Suggestion(change, ()), effect, trials) if effect is not None and is_enough else None
