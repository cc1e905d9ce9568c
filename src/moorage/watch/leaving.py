"""Follow which pods have to leave their nodes because of NoExecute taints, and when, as pods and nodes change."""

from collections.abc import Callable, Iterator

import msgspec

from moorage.match.eviction_clock import TOLERATED_SKEW, Deadline
from moorage.match.taint_eviction import When, no_execute
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.plan.pod_lines import TAINT_EVICTION, PodDeadline, PodLine, State
from moorage.watch.eviction_causes import Taints, eviction_clock
from moorage.watch.happenings import Happening, HappeningKind, key_of, workload_of


class Leaving:
    """The pods on nodes, and the deadlines of those that have to leave."""

    def __init__(self, on_change: Callable[[str], None]) -> None:
        """`on_change` hears the key of every pod that gets another deadline, or none any more."""
        self._on_change = on_change
        self._pods: dict[str, dict[str, Pod]] = {}  # by node and key
        self._node_of: dict[str, str] = {}
        self._tainted: dict[str, Taints] = {}
        self._begun: dict[str, dict[str, float]] = {}  # by node and taint key: when it was first seen
        self._leaving: dict[str, Deadline] = {}

    def pod_changed(self, key: str, pod: Pod | None, now: float) -> Iterator[Happening]:
        """Take a pod as it is now, None if it is gone."""
        node = pod.spec.nodeName if pod is not None else ""
        before = self._node_of.get(key, "")
        if before != node:
            self._leave(key, before)
        if pod is None or not node:
            return
        self._node_of[key] = node
        self._pods.setdefault(node, {})[key] = pod
        if node in self._tainted or key in self._leaving:
            yield from self._look(key, pod, now)

    def _leave(self, key: str, node: str) -> None:
        self._leaving.pop(key, None)
        self._node_of.pop(key, None)
        pods = self._pods.get(node, {})
        pods.pop(key, None)
        if not pods:
            self._pods.pop(node, None)

    def node_changed(self, name: str, node: Node | None, now: float) -> Iterator[Happening]:
        """Take a node as it is now, None if it is gone."""
        taints = no_execute(node) if node is not None else ()
        if taints == self._tainted.get(name, ()):
            return
        known = {(taint.key, taint.value) for taint in self._tainted.pop(name, ())}
        begun = self._begun.pop(name, {})
        if taints:
            self._tainted[name] = taints
            self._begun[name] = {
                taint.key: begun[taint.key] if (taint.key, taint.value) in known else now for taint in taints
            }
        for key, pod in self._pods.get(name, {}).items():
            yield from self._look(key, pod, now)

    def _look(self, key: str, pod: Pod, now: float) -> Iterator[Happening]:
        """Find out when a pod has to leave, and tell it if that is new."""
        node, before = pod.spec.nodeName, self._leaving.pop(key, None)
        if pod.metadata.deletionTimestamp is not None:
            return
        found = eviction_clock(pod, self._tainted.get(node, ()), now, self._begun.get(node, {}))
        if not found.leaves:
            if before is not None:
                self._on_change(key)
                yield _news(pod, f"on {node} {found.text or 'stays: no NoExecute taint is left'}", now)
            return
        self._leaving[key] = found
        self._on_change(key)
        # One that is evicted at once is told when it has left.
        if found.when is When.AFTER and (before is None or abs(before.due - found.due) > TOLERATED_SKEW):
            yield _news(pod, f"on {node} {found.text}", now)

    def of(self, key: str) -> Deadline | None:
        """Return the deadline of a pod, as it was when the pod or its node changed; None if it has none."""
        return self._leaving.get(key)

    def lines(self, now: float) -> list[PodLine]:
        """Return the pods that have to leave, the first ones first, with the seconds that remain."""
        by_time = sorted(self._leaving.items(), key=lambda entry: entry[1].due)
        return [self._line(key, found, now) for key, found in by_time]

    def _line(self, key: str, found: Deadline, now: float) -> PodLine:
        node = self._node_of[key]
        pod = self._pods[node][key]
        clock = msgspec.structs.replace(found, seconds=max(0, round(found.due - now)))
        told = PodDeadline(clock.text, clock.seconds, clock.because)
        metadata, priority = pod.metadata, pod.spec.priority or 0
        return PodLine(
            metadata.namespace,
            metadata.name,
            workload_of(pod),
            State.EVICTING,
            node,
            priority,
            TAINT_EVICTION,
            clock.text,
            deadline=told,
        )

    def __len__(self) -> int:
        return len(self._leaving)


def _news(pod: Pod, text: str, now: float) -> Happening:
    return Happening(now, HappeningKind.LEAVING, key_of(pod), workload_of(pod), text)
