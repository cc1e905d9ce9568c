"""Find the stage in which a cluster is on its way back, and the commands of the next step if that is safe.

First nothing new is lowered; then the owners of what is lowered change it with their next releases; only when nothing
is lowered any more the lowering goes, then the mirror, then the labels, then the rest. With the mirror gone first,
`DoesNotExist` would match every node. Templates are never restored here: that would be a rollout of all of them.
Kubernetes: kubectl delete. Differs: every call looks at the cluster again, so that an order once broken is noticed.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from moorage.attach.formats import MIRRORED, Raw, is_match_label, is_mirror_label
from moorage.attach.policies.additions import adds_comparisons, is_addition
from moorage.attached import names
from moorage.attached.install.settings import REFUSE
from moorage.attached.status.installed import NEW_COMPARISONS, components, is_policies_only, refuses_new
from moorage.attached.status.lowered_objects import LoweredObject, Reliance, lowered_objects
from moorage.attached.status.snapshot import LOWERED_KINDS, Snapshot
from moorage.attached.uninstall.becoming import Becoming, NodeValues, VersionBecoming, becoming
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.node import Node

STAGES: Final = (
    "refuse new comparisons",
    "wait until nothing is lowered any more",
    "stop lowering",
    "stop the controller, then the mirror, then the webhook",
    "remove the labels of nodes",
    "remove accounts, rights and namespace",
)
_LABELS_PER_COMMAND: Final = 20
_PART_OF: Final = "app.kubernetes.io/part-of"
_OURS: Final = "moorage-attach"
_HELM_RELEASE: Final = "meta.helm.sh/release-name"
_APPLIED: Final = (
    KINDS.MUTATING_WEBHOOK_CONFIGURATION,
    KINDS.MUTATING_ADMISSION_POLICY_BINDING,
    KINDS.MUTATING_ADMISSION_POLICY,
)


class Leaving(NamedTuple):
    """A lowered object, and what its comparisons could become."""

    lowered: LoweredObject
    becoming: tuple[Becoming | VersionBecoming, ...]


class WayBack(NamedTuple):
    """Where a cluster is. `stage` counts from 1, and is 0 when nothing is left of attach.

    `commands` make the next step; the list is empty while something blocks it, and `blocked` says why.
    """

    stage: int
    why: str
    commands: tuple[str, ...] = ()
    blocked: str = ""
    lowered: tuple[Leaving, ...] = ()
    warnings: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return STAGES[self.stage - 1] if self.stage else "nothing of attach is left"

    def as_json(self) -> dict[str, Any]:
        return {
            "stage": self.stage,
            "stages": list(STAGES),
            "title": self.title,
            "why": self.why,
            "commands": list(self.commands),
            **({"blocked": self.blocked} if self.blocked else {}),
            "warnings": list(self.warnings),
            "notChecked": list(self.unread),
            "lowered": [
                {**each.lowered.as_json(), "becoming": [found.as_json() for found in each.becoming]}
                for each in self.lowered
            ],
        }


def way_back(snapshot: Snapshot) -> WayBack:
    """Return the stage, by what is in the cluster now."""
    kinds = (*LOWERED_KINDS, KINDS.NODE, *_APPLIED)
    unread = tuple(f"{kind.plural}: {snapshot.unread[kind.plural]}" for kind in kinds if kind.plural in snapshot.unread)
    if unread:
        return WayBack(
            1, "", blocked="not everything could be looked at, so that no step is known to be safe", unread=unread
        )
    lowered = tuple(lowered_objects(snapshot))
    if lowered:
        return _with_lowered(snapshot, lowered)
    for stage, commands, why in _steps(snapshot):
        if commands:
            return WayBack(stage, why, tuple(commands))
    return WayBack(0, "neither manifests nor labels nor lowered objects are there")


def _with_lowered(snapshot: Snapshot, lowered: tuple[LoweredObject, ...]) -> WayBack:
    values, native = NodeValues(snapshot), snapshot.native
    leaving = tuple(Leaving(each, tuple(becoming(each, values, native))) for each in lowered)
    warnings = tuple(_dangers(snapshot, lowered))
    if _applied(snapshot, names.LOWERING) and not refuses_new(snapshot):
        why = f"{_objects(lowered)} lowered; as long as more are lowered, that never ends"
        return WayBack(1, why, tuple(_refusing(snapshot)), lowered=leaving, warnings=warnings)
    if history := tuple(_of_history(lowered)):
        why = "only revisions are left, which replace no pod when they are deleted; there is no rollback to them then"
        return WayBack(2, why, history, lowered=leaving, warnings=warnings)
    blocked = (
        f"{_objects(lowered)} lowered and rely on the mirror of nodes: change their manifests, and let their next "
        "release replace them"
    )
    return WayBack(2, "", (), blocked, leaving, warnings)


def _objects(lowered: Sequence[LoweredObject]) -> str:
    return f"{len(lowered):,} object{' is' if len(lowered) == 1 else 's are'}"


def _dangers(snapshot: Snapshot, lowered: Sequence[LoweredObject]) -> Iterator[str]:
    """Yield what was taken away too early, with the command that brings it back."""
    relying = {reliance for each in lowered for reliance in each.relies_on}
    if not _applied(snapshot, names.MIRRORING):
        again = "moorage attach policies | kubectl apply -f -" if snapshot.minor >= 36 else "moorage attach install"
        yield f"the mirror of nodes is gone, so that pods land on every tainted node: {again}"
    _, controller = components(snapshot)
    if controller.deployment is None and relying & {Reliance.MATCH_LABELS, Reliance.EVICTION}:
        yield "the controller is gone, so that no match label is written and no pod evicted: moorage attach install"
    if not _applied(snapshot, names.LOWERING):
        yield "nothing lowers any more: manifests with comparisons cannot be applied again before they are changed"


def _adding(snapshot: Snapshot, *, comparing: bool) -> Iterator[str]:
    """Yield commands that delete policies which add something to pods; only those that add comparisons, or all."""
    for policy in snapshot.of(KINDS.MUTATING_ADMISSION_POLICY):
        if not is_addition(policy.name) or (comparing and not adds_comparisons(policy.raw)):
            continue
        for kind in _APPLIED[1:]:
            if snapshot.find(kind, policy.name) is not None:
                yield f"kubectl delete {kind.plural} {policy.name}"


def _refusing(snapshot: Snapshot) -> Iterator[str]:
    """Yield the commands after which nothing new is lowered."""
    yield from _adding(snapshot, comparing=True)
    if is_policies_only(snapshot):
        yield f"moorage attach policies --lower {NEW_COMPARISONS} {REFUSE} | kubectl apply -f -"
        return
    webhook, _ = components(snapshot)
    arguments = [
        each for each in webhook.container.get("args") or () if not str(each).startswith(f"{NEW_COMPARISONS}=")
    ]
    if webhook.deployment is None:
        yield f"kubectl delete {KINDS.MUTATING_WEBHOOK_CONFIGURATION.plural} {names.LOWERING}"
        return
    if release := _helm_release(webhook.deployment):
        yield f"helm upgrade {release} CHART -n {snapshot.namespace} --reuse-values --set newComparisons={REFUSE}"
        return
    listed = ",".join(f'"{each}"' for each in (*arguments, f"{NEW_COMPARISONS}={REFUSE}"))
    container = f'{{"name":"{webhook.container.get("name")}","args":[{listed}]}}'
    patch = f'{{"spec":{{"template":{{"spec":{{"containers":[{container}]}}}}}}}}'
    yield f"kubectl -n {snapshot.namespace} patch deployment {names.WEBHOOK} -p '{patch}'"
    yield f"kubectl -n {snapshot.namespace} rollout status deployment {names.WEBHOOK}"


def _of_history(lowered: Iterable[LoweredObject]) -> Iterator[str]:
    """Yield commands that delete old revisions, which replace no pod, if nothing but them is left."""
    if all(each.is_history for each in lowered):
        for each in lowered:
            yield f"kubectl -n {each.namespace} delete {each.kind.lower()} {each.name}"


def _steps(snapshot: Snapshot) -> Iterator[tuple[int, list[str], str]]:
    """Yield the stages of a cluster in which nothing is lowered; those without commands are behind it."""
    yield 3, list(_deleting(snapshot, names.LOWERING)), "nothing is lowered any more"
    webhook, controller = components(snapshot)
    stopping = [
        *([_delete_deployment(snapshot, names.CONTROLLER)] if controller.deployment is not None else []),
        *_deleting(snapshot, names.MIRRORING),
        *([_delete_deployment(snapshot, names.WEBHOOK)] if webhook.deployment is not None else []),
    ]
    yield 4, stopping, "nothing lowers, and nothing is lowered"
    yield 5, list(_labels(snapshot)), "nothing compares labels of nodes any more, and nothing writes them"
    yield 6, list(_rest(snapshot)), "only accounts, rights and the namespace are left"


def _applied(snapshot: Snapshot, name: str) -> list[Kind]:
    return [kind for kind in _APPLIED if snapshot.find(kind, name) is not None]


def _deleting(snapshot: Snapshot, name: str) -> Iterator[str]:
    for kind in _applied(snapshot, name):
        yield f"kubectl delete {kind.plural} {name}"


def _delete_deployment(snapshot: Snapshot, name: str) -> str:
    return f"kubectl -n {snapshot.namespace} delete deployment {name} --cascade=foreground"


def _labels(snapshot: Snapshot) -> Iterator[str]:
    keys: set[str] = set()
    for found in snapshot.of(KINDS.NODE):
        node: Node = found.view
        keys |= {key for key in node.metadata.labels if key == MIRRORED or is_mirror_label(key) or is_match_label(key)}
    ordered = sorted(keys)
    for start in range(0, len(ordered), _LABELS_PER_COMMAND):
        listed = " ".join(f"{key}-" for key in ordered[start : start + _LABELS_PER_COMMAND])
        yield f"kubectl label node --all {listed}"


def _rest(snapshot: Snapshot) -> Iterator[str]:
    yield from _adding(snapshot, comparing=False)
    left = [
        (kind, each.raw)
        for kind in (KINDS.CLUSTER_ROLE_BINDING, KINDS.CLUSTER_ROLE)
        for each in snapshot.of(kind)
        if _is_ours(each.raw)
    ]
    release = next(filter(None, (_helm_release(each) for _, each in left)), "")
    if release:
        yield f"helm uninstall {release} -n {snapshot.namespace}"
    else:
        for kind in dict.fromkeys(kind for kind, _ in left):
            listed = " ".join(each["metadata"]["name"] for other, each in left if other is kind)
            yield f"kubectl delete {kind.plural} {listed}"
    namespace = snapshot.find(KINDS.NAMESPACE, snapshot.namespace)
    if namespace is not None and _is_ours(namespace):
        if (namespace.get("status") or {}).get("phase") != "Terminating":
            yield f"kubectl delete namespace {snapshot.namespace}"
        return
    kinds = (KINDS.ROLE_BINDING, KINDS.ROLE, KINDS.SERVICE, KINDS.POD_DISRUPTION_BUDGET, KINDS.SERVICE_ACCOUNT)
    for kind in () if release else kinds:
        if any(_is_ours(each.raw) for each in snapshot.of(kind)):
            yield f"kubectl -n {snapshot.namespace} delete {kind.plural} -l {_PART_OF}={_OURS}"
    for kind, name in ((KINDS.SECRET, names.CERTIFICATES), (KINDS.LEASE, names.CONTROLLER)):
        if snapshot.find(kind, name, snapshot.namespace) is not None:
            yield f"kubectl -n {snapshot.namespace} delete {kind.plural} {name}"


def _is_ours(document: Raw) -> bool:
    labels = (document.get("metadata") or {}).get("labels") or {}
    return bool(labels.get(_PART_OF) == _OURS)


def _helm_release(document: Raw) -> str:
    annotations = (document.get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(_HELM_RELEASE) or "")
