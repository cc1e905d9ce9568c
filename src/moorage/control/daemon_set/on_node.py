"""What is to be done about a DaemonSet on one node, and what the node adds to the status.

In: whether the node should have a pod, the pods it has, the DaemonSet's wishes, the time. Out: a `Verdict`. Kubernetes:
podsShouldBeOnNode, findUpdatedPodsOnNode, and what updateDaemonSetStatus does for each node.
"""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from moorage.control.daemon_set.daemon_pod import DaemonPod
from moorage.match.daemon_pods import DaemonFit


class Wishes(NamedTuple):
    """What a DaemonSet asks of all its nodes. `hash` and `generation` tell its newest pods."""

    hash: str
    generation: str
    min_ready_seconds: int
    surges: bool


class Counts(NamedTuple):
    """What a node, or all of them, add to the status."""

    desired: int = 0
    current: int = 0
    misscheduled: int = 0
    ready: int = 0
    updated: int = 0
    available: int = 0


class Stage(Enum):
    """How far a rolling update has come on a node. Only pods that are not being deleted count."""

    ELSEWHERE = "no pod, and none is wanted"
    EXCESS = "several pods of the same age"
    MISSING = "no pod"
    NEW_WAITS = "a new pod that is not available"
    NEW = "a new pod"
    OLD_WAITS = "an old pod that is not available"
    OLD = "an old pod"
    BOTH_WAIT = "an old pod and a new one that is not available"
    BOTH = "an old pod and a new one"


class Verdict(NamedTuple):
    """`failed` and `succeeded` pods are among those to `delete`. `until`: when time alone may change this."""

    creates: bool = False
    delete: tuple[DaemonPod, ...] = ()
    failed: tuple[DaemonPod, ...] = ()
    succeeded: tuple[DaemonPod, ...] = ()
    counts: Counts = Counts()
    stage: Stage = Stage.ELSEWHERE
    should_run: bool = False
    old: DaemonPod | None = None
    is_available: bool = False
    until: float | None = None


_NO_FIT = DaemonFit(should_run=False, should_continue=False)


def judge_node(fit: DaemonFit | None, pods: Sequence[DaemonPod], wishes: Wishes, now: float) -> Verdict:
    """`fit` is None for a node that does not exist (any more); its bound pods are the pod garbage collector's."""
    pods = sorted((pod for pod in pods if not pod.is_over), key=lambda pod: pod.age_key)
    here = [pod for pod in pods if not pod.is_leaving]
    known = fit if fit is not None else _NO_FIT
    creates = False
    delete: list[DaemonPod] = []
    failed: list[DaemonPod] = []
    succeeded: list[DaemonPod] = []
    if fit is None:
        delete = [pod for pod in here if not pod.is_bound]
    elif fit.should_run and not pods:
        creates = True
    elif fit.should_continue:
        failed = [pod for pod in here if pod.phase == "Failed"]
        succeeded = [pod for pod in here if pod.phase == "Succeeded"]
        running = [pod for pod in here if pod.phase not in ("Failed", "Succeeded")]
        surplus = _surplus(running, wishes, now) if wishes.surges else running[1:]
        creates = wishes.surges and not running and fit.should_run
        delete = [*failed, *succeeded, *surplus]
    else:
        delete = here
    stage, old, is_available = _stage(here, known, wishes, now, has_pods=bool(pods))
    moments = [at for pod in pods if (at := pod.available_at(wishes.min_ready_seconds)) is not None and at > now]
    return Verdict(
        creates,
        tuple(delete),
        tuple(failed),
        tuple(succeeded),
        _counts(pods, known, wishes, now) if fit is not None else Counts(),
        stage,
        known.should_run,
        old,
        is_available,
        min(moments, default=None),
    )


def _is_available(pod: DaemonPod, wishes: Wishes, now: float) -> bool:
    at = pod.available_at(wishes.min_ready_seconds)
    return at is not None and at <= now


def _surplus(running: Sequence[DaemonPod], wishes: Wishes, now: float) -> list[DaemonPod]:
    """Two pods may be there if the old one is ready and the new one is not available yet."""
    if len(running) <= 1:
        return []
    new = [pod for pod in running if pod.hash == wishes.hash]
    old = [pod for pod in running if pod.hash != wishes.hash]
    surplus = new[1:] + old[1:]
    if new and old and (not old[0].is_ready or _is_available(new[0], wishes, now)):
        surplus.append(old[0])
    return surplus


def _stage(
    here: Sequence[DaemonPod], fit: DaemonFit, wishes: Wishes, now: float, *, has_pods: bool
) -> tuple[Stage, DaemonPod | None, bool]:
    """The stage, the old pod, and whether the node has a pod that is available: the old one's word counts."""
    updated = [pod.is_updated(wishes.hash, wishes.generation) for pod in here]
    new = [pod for pod, is_new in zip(here, updated, strict=True) if is_new]
    old = [pod for pod, is_new in zip(here, updated, strict=True) if not is_new]
    if len(new) > 1 or len(old) > 1:
        return Stage.EXCESS, None, False
    new_waits = bool(new) and not _is_available(new[0], wishes, now)
    if old:
        old_waits = not _is_available(old[0], wishes, now)
        if new:
            return (Stage.BOTH_WAIT if new_waits else Stage.BOTH), old[0], not old_waits
        return (Stage.OLD_WAITS if old_waits else Stage.OLD), old[0], not old_waits
    if new:
        return (Stage.NEW_WAITS if new_waits else Stage.NEW), None, not new_waits
    return (Stage.MISSING if has_pods or fit.should_run else Stage.ELSEWHERE), None, False


def _counts(pods: Sequence[DaemonPod], fit: DaemonFit, wishes: Wishes, now: float) -> Counts:
    if not fit.should_run:
        return Counts(misscheduled=1 if pods else 0)
    if not pods:
        return Counts(desired=1)
    oldest = pods[0]
    return Counts(
        desired=1,
        current=1,
        ready=int(oldest.is_ready),
        updated=int(oldest.is_updated(wishes.hash, wishes.generation)),
        available=int(_is_available(oldest, wishes, now)),
    )
