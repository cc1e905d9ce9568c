"""Group pods that a taint evicts later by their deadlines, and write the deadlines beside their names."""

from collections.abc import Iterable, Sequence

import msgspec

from moorage.plan.pod_lines import PodLine
from moorage.plan.report.grouping import names

_MAX_THEN = 3


class LeavingGroup(msgspec.Struct):
    """Pods of one workload that leave one node at the same time for the same reason."""

    workload: str
    node: str
    text: str
    pods: list[PodLine]

    @property
    def then(self) -> str:
        """What follows, for each of the first pods if it differs."""
        found = list(dict.fromkeys(pod.deadline.then for pod in self.pods if pod.deadline and pod.deadline.then))
        more = f"; and {len(found) - _MAX_THEN:,} more" if len(found) > _MAX_THEN else ""
        return "; ".join(found[:_MAX_THEN]) + more


def by_deadline(pods: Iterable[PodLine]) -> list[LeavingGroup]:
    """Return the groups in the order of their deadlines."""
    groups: dict[tuple[str, str, str], LeavingGroup] = {}
    for pod in sorted(pods, key=lambda pod: (pod.deadline.seconds or 0) if pod.deadline else 0):
        text = pod.deadline.text if pod.deadline is not None else pod.message
        key = pod.workload or pod.key, pod.node, text
        groups.setdefault(key, LeavingGroup(pod.workload, pod.node, text, [])).pods.append(pod)
    return list(groups.values())


def deadline_note(pod: PodLine) -> str:
    """` (leaves in 23 s: fp=3 is tolerated for 30 s)`; empty if no taint evicts the pod."""
    return f" ({pod.deadline.text})" if pod.deadline is not None else ""


def names_with_deadlines(pods: Sequence[PodLine], *, everything: bool, namespace: bool = False) -> str:
    """`a, b; c (leaves in 23 s: fp=3 is tolerated for 30 s)`."""
    alike: dict[str, list[PodLine]] = {}
    for pod in sorted(pods, key=lambda pod: pod.deadline is not None):
        alike.setdefault(deadline_note(pod), []).append(pod)
    return "; ".join(names(group, everything=everything, namespace=namespace) + note for note, group in alike.items())
