"""Choose the suggestions that help a workload as a whole: each is tried on it, the smallest change first."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from moorage.model.kinds import KINDS
from moorage.plan.explain.remedies.carrying_out import template_owner
from moorage.plan.explain.remedies.change import Change, ChangeKind, ObjectPatch, as_yaml
from moorage.plan.explain.remedies.trials import MAX_SUGGESTIONS, Suggestion
from moorage.plan.explain.remedies.workload_trials import Effect, WorkloadTrials, shown_worse
from moorage.plan.node_changes import AddedNodes
from moorage.plan.rollout import SCALED, kind_of_workload

_MAX_MODELS = 2
_MAX_ADDED = 64
_RECREATE = "strategy Recreate: a rolling update would wait for the old pods; all of them stop before new ones start"


def helping(worked: Iterable[Suggestion], trials: WorkloadTrials) -> list[Suggestion]:
    """Return those after which fewer pods of the workload wait, the smallest change first.

    Of changes to the same part a larger one is kept only if fewer pods wait then, or if it opens more nodes.
    """
    by_part: dict[str, Suggestion] = {}
    kept: list[Suggestion] = []
    for one in sorted(worked, key=_distance):
        last = by_part.get(one.change.part)
        if last is not None and not last.lacking and len(one.nodes) <= len(last.nodes):
            continue
        suggestion = _helped(one, trials)
        if suggestion is None:
            continue
        if last is None or suggestion.lacking < last.lacking or len(one.nodes) > len(last.nodes):
            by_part[one.change.part] = suggestion
            kept.append(suggestion)
        if len(kept) >= MAX_SUGGESTIONS:
            break
    return sorted(kept, key=lambda one: (bool(one.worse), *_distance(one)))


def _distance(suggestion: Suggestion) -> tuple[int, float, int, str]:
    change = suggestion.change
    return change.size, change.move, -len(suggestion.nodes), change.summary


def _helped(one: Suggestion, trials: WorkloadTrials) -> Suggestion | None:
    effect = trials.try_changes(one.change)
    if not _is_less(effect, trials) and _may_recreate(one.change, trials):
        note = f"{one.change.note}; {_RECREATE}" if one.change.note else _RECREATE
        one = replace(one, change=replace(one.change, recreates=True, note=note, size=one.change.size + 1))
        effect = trials.try_changes(one.change)
    return _with_effect(one, effect, trials) if effect is not None and _is_less(effect, trials) else None


def _with_effect(one: Suggestion, effect: Effect, trials: WorkloadTrials) -> Suggestion:
    return replace(
        one, lacked=trials.now.lacking, lacking=effect.lacking, worse=shown_worse(effect), deletes=effect.deleted
    )


def _is_less(effect: Effect | None, trials: WorkloadTrials) -> bool:
    return effect is not None and effect.lacking < trials.now.lacking


def _may_recreate(change: Change, trials: WorkloadTrials) -> bool:
    owner = template_owner(trials.simulation, trials.pod) if change.pod is not None else None
    return owner is not None and owner.kind is KINDS.DEPLOYMENT and owner.view.spec.strategy.type != "Recreate"


# -- changes of numbers -----------------------------------------------------------------------------------------------


def fewer_replicas(trials: WorkloadTrials) -> Iterator[Suggestion]:
    """Suggest the largest number of replicas that all fit."""
    key = trials.key
    field = "parallelism" if key.kind == "Job" else "replicas"
    if key.kind not in (*SCALED, "Job"):
        return
    kind = kind_of_workload(key.kind)
    owner = trials.simulation.world.get(kind, f"{key.namespace}/{key.name}")
    if owner is None:
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
        if effect is not None and not effect.lacking:
            yield _with_effect(Suggestion(change, ()), effect, trials)
            return


def more_nodes(trials: WorkloadTrials, models: Iterable[str]) -> Iterator[Suggestion]:
    """Suggest the smallest number of nodes like one that there is with which all pods fit."""
    for like in list(models)[:_MAX_MODELS]:
        most = min(trials.now.lacking, _MAX_ADDED)
        best = _added(trials, like, most)
        if best is None:
            continue
        low, high = 1, most
        while low < high:
            middle = (low + high) // 2
            fewer = _added(trials, like, middle)
            if fewer is None:
                low = middle + 1
            else:
                best, high = fewer, middle
        yield best


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
    return _with_effect(Suggestion(change, ()), effect, trials) if effect is not None and not effect.lacking else None
