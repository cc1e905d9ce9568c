"""Find rolling updates that can never finish, because of required anti-affinity against the workload's own pods.

Reports the number of domains an update needs, so that `spread` can drop it if the input's nodes have enough of them.
Kubernetes: the new pod may not run beside an old one, and no old one is removed before the new one is ready, if
maxUnavailable is 0 or rounds down to 0. Required affinity to the workload's own pods makes free nodes in other zones
useless.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from moorage.lint.rules.label_keys import POD_TEMPLATE_HASH
from moorage.lint.subject import Complaint, PodPart, Subject
from moorage.match.label_selector import compile_label_selector
from moorage.match.requirement import SelectorError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moorage.model.types.meta import LabelSelector
    from moorage.model.types.pod import PodAffinityTerm

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class Deadlock(msgspec.Struct, frozen=True):
    """A rollout that stops unless there are more than `occupied` domains of the topology key; None: always.

    `within`: keys in which new pods must equal the old ones, so that only domains with the same values count.
    """

    complaint: Complaint
    topology_key: str
    occupied: int | None
    within: tuple[str, ...] = ()


def check_rollout(subject: Subject, pods: PodPart) -> Iterator[Deadlock]:
    affinity = pods.spec.affinity
    if affinity is None or affinity.podAntiAffinity is None or subject.kind not in ("Deployment", "DaemonSet"):
        return
    if subject.kind == "Deployment":
        why = _deployment_never_frees(subject)
        revision_key = POD_TEMPLATE_HASH
        replicas = subject.view.spec.replicas
        occupied: int | None = 1 if replicas is None else replicas
    else:
        why = _daemon_set_never_frees(subject)
        revision_key = "controller-revision-hash"
        occupied = None  # the new pod must stand on the very node of the old one
    if why is None:
        return
    namespace = subject.view.metadata.namespace or "default"
    joined = affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution if affinity.podAffinity else ()
    within = tuple(term.topologyKey for term in joined if _selects_old_pods(term, pods, namespace, revision_key))
    if occupied is None:
        within = ()
    beside = f", but has to be in the same {' and '.join(dict.fromkeys(within))}" if within else ""
    for index, term in enumerate(affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution):
        if not _selects_old_pods(term, pods, namespace, revision_key):
            continue
        path = f"{pods.spec_path}.affinity.podAntiAffinity.{_REQUIRED}[{index}]"
        free = f"without a free {term.topologyKey}{' there' if within else ''}"
        waits = f"{free}, the rolling update waits forever" if occupied else "it waits forever"
        complaint = Complaint(
            "rollout-deadlock",
            path,
            f"a new pod may not run where an old pod of this {subject.kind} runs{beside}, and {why}: {waits}",
            f"add to this term (or let the strategy free a place first: maxUnavailable: 1, maxSurge: 0):\n"
            f"  matchLabelKeys:\n  - {revision_key}\n"
            "The old pods still carry the old rule: the update that adds it needs a free place once more.",
        )
        yield Deadlock(complaint, term.topologyKey, occupied, within)


def _deployment_never_frees(subject: Subject) -> str | None:
    """Return why no old pod is removed before a new one is ready; None if one is."""
    spec = subject.view.spec
    replicas = 1 if spec.replicas is None else spec.replicas
    if spec.strategy.type not in ("", "RollingUpdate") or replicas <= 0:
        return None
    rolling = spec.strategy.rollingUpdate
    given = rolling.maxUnavailable if rolling is not None and rolling.maxUnavailable is not None else "25%"
    surge = rolling.maxSurge if rolling is not None and rolling.maxSurge is not None else "25%"
    unavailable = scaled(given, replicas, round_up=False)
    surging = scaled(surge, replicas, round_up=True)
    # Both rounded to 0: Kubernetes then allows one pod to be unavailable, so that rollouts can proceed.
    if unavailable != 0 or surging is None or surging == 0:
        return None
    if isinstance(given, str) and given != "0%":
        return f"no old pod is removed before (maxUnavailable {given} of {replicas} rounds down to 0)"
    return "no old pod is removed before (maxUnavailable is 0)"


def _daemon_set_never_frees(subject: Subject) -> str | None:
    strategy = subject.view.spec.updateStrategy
    if strategy.type not in ("", "RollingUpdate") or strategy.rollingUpdate is None:
        return None
    if strategy.rollingUpdate.maxSurge in (None, 0, "0%", "0"):
        return None
    return "with maxSurge the old pod of a node is removed only when the new one is ready on the same node"


def scaled(value: int | str, total: int, *, round_up: bool) -> int | None:
    """Resolve a number or a percentage of the total; None if it is neither."""
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    if digits == value or not digits.isascii() or not digits.isdigit() or len(digits) > 9:
        return None
    product = int(digits) * total
    return -(-product // 100) if round_up else product // 100


def _selects_old_pods(term: PodAffinityTerm, pods: PodPart, namespace: str, revision_key: str) -> bool:
    """True if a term of a new pod selects old ones, too."""
    if any(key == revision_key or key in pods.metadata.labels for key in term.matchLabelKeys):
        return False  # some label of the author's own may well tell the revisions apart
    return _selects_own_pods(term, pods, namespace)


def _selects_own_pods(term: PodAffinityTerm, pods: PodPart, namespace: str) -> bool:
    if not _namespace_included(term, namespace):
        return False
    if any(key in pods.metadata.labels for key in term.mismatchLabelKeys):
        return False  # `NotIn` the pods' own value leaves no pod of the same template
    return _matches(term.labelSelector, pods.metadata.labels)


def _namespace_included(term: PodAffinityTerm, namespace: str) -> bool:
    if term.namespaceSelector is None:
        return not term.namespaces or namespace in term.namespaces
    if namespace in term.namespaces:
        return True
    # Every namespace carries its name as a label; what others it has is not known here.
    return _matches(term.namespaceSelector, {"kubernetes.io/metadata.name": namespace})


def _matches(selector: LabelSelector | None, labels: dict[str, str]) -> bool:
    try:
        return compile_label_selector(selector).match(labels)
    except SelectorError:
        return False
