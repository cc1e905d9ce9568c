"""One DaemonSet's pods and nodes, kept up to date with what changes.

In: everything once, then only changes. Out: verdicts of all nodes, added up; those of nodes that nothing happened to
are kept. It remembers nothing that the world does not say: a new tracker of the same world knows the same. Kubernetes
looks at all nodes and pods every time.
"""

from collections.abc import Iterable, Iterator

from moorage.client.protocol import Object
from moorage.control.daemon_set.daemon_pod import DaemonPod, daemon_pod
from moorage.control.daemon_set.on_node import Counts, Stage, Verdict, Wishes, judge_node
from moorage.control.framework.pods_of import selects
from moorage.match.daemon_pods import DaemonFit, DaemonTemplate
from moorage.model.types.meta import LabelSelector
from moorage.model.types.node import Node


class Tracker:
    """See the module. `strays` are pods it controls that its selector does not match."""

    def __init__(self, template: DaemonTemplate, selector: LabelSelector | None, wishes: Wishes) -> None:
        self.template, self.wishes = template, wishes
        self.strays: dict[str, Object] = {}
        self.orphans: set[str] = set()
        self._selector = selector
        self._pods: dict[str, DaemonPod] = {}
        self._pods_on: dict[str, dict[str, DaemonPod]] = {}
        self._fits: dict[str, DaemonFit] = {}
        self._verdicts: dict[str, Verdict] = {}
        self._stages: dict[Stage, dict[str, Verdict]] = {stage: {} for stage in Stage}
        self._counts = [0] * len(Counts._fields)
        self._creating: dict[str, None] = {}
        self._deleting: dict[str, None] = {}
        self._until: dict[str, float] = {}
        self._dirty: dict[str, None] = {}
        self._available = 0

    # -- what changes -------------------------------------------------------------------------------------------------

    def node_changed(self, name: str, node: Node | None) -> bool:
        """Whether that makes a difference."""
        fit = self.template.fits(node) if node is not None else None
        if self._fits.get(name) == fit:
            return False
        if fit is None:
            del self._fits[name]
        else:
            self._fits[name] = fit
        self._dirty[name] = None
        return True

    def pod_changed(self, key: str, pod: Object | None) -> bool:
        """A pod of this DaemonSet is new, is different or is not its any more. Whether that makes a difference."""
        new = None
        was_stray = key in self.strays
        stray = pod is not None and not selects(self._selector, pod.view.metadata.labels)
        if stray and pod is not None:
            self.strays[key] = pod
        else:
            self.strays.pop(key, None)
            new = daemon_pod(pod) if pod is not None else None
        old = self._pods.get(key)
        if new == old:
            return stray or was_stray
        if old is not None:
            self._remove(key, old)
        if new is not None:
            self._pods[key] = new
            if new.node:
                self._pods_on.setdefault(new.node, {})[key] = new
                self._dirty[new.node] = None
        return True

    def _remove(self, key: str, pod: DaemonPod) -> None:
        del self._pods[key]
        there = self._pods_on.get(pod.node)
        if there is None:
            return
        there.pop(key, None)
        if not there:
            del self._pods_on[pod.node]
        self._dirty[pod.node] = None

    # -- what follows -------------------------------------------------------------------------------------------------

    def refresh(self, now: float) -> None:
        """EvictionDecider every node again that something happened to, or for which the time has come."""
        due = [node for node, until in self._until.items() if until <= now]
        for node in (*self._dirty, *due):
            pods = self._pods_on.get(node, {})
            fit = self._fits.get(node)
            self._set(node, judge_node(fit, list(pods.values()), self.wishes, now))
        self._dirty.clear()

    def _set(self, node: str, verdict: Verdict) -> None:
        old = self._verdicts.pop(node, None)
        if old is not None:
            del self._stages[old.stage][node]
            self._add(old, -1)
            self._creating.pop(node, None)
            self._deleting.pop(node, None)
            self._until.pop(node, None)
        if node not in self._fits and node not in self._pods_on:
            return
        self._verdicts[node] = verdict
        self._stages[verdict.stage][node] = verdict
        self._add(verdict, 1)
        if verdict.creates:
            self._creating[node] = None
        if verdict.delete:
            self._deleting[node] = None
        if verdict.until is not None:
            self._until[node] = verdict.until

    def _add(self, verdict: Verdict, sign: int) -> None:
        for index, count in enumerate(verdict.counts):
            self._counts[index] += sign * count
        self._available += sign * verdict.is_available

    @property
    def counts(self) -> Counts:
        return Counts(*self._counts)

    @property
    def available_nodes(self) -> int:
        """Nodes with a pod that is available, whether or not they should have one."""
        return self._available

    @property
    def next_change(self) -> float | None:
        """When time alone will change something."""
        return min(self._until.values(), default=None)

    @property
    def nodes_without_pod(self) -> Iterable[str]:
        return self._creating

    def nodes_with_surplus(self) -> Iterator[tuple[str, Verdict]]:
        """Nodes on which pods are to be deleted, whatever a rolling update says."""
        return ((node, self._verdicts[node]) for node in self._deleting)

    def at(self, *stages: Stage) -> dict[str, Verdict]:
        """Nodes at these stages of a rolling update."""
        found = [self._stages[stage] for stage in stages]
        return found[0] if len(found) == 1 else {node: verdict for one in found for node, verdict in one.items()}

    def count_at(self, *stages: Stage) -> int:
        return sum(len(self._stages[stage]) for stage in stages)

    def hashes(self) -> set[str]:
        """Of which revisions there are pods."""
        return {pod.hash for pod in self._pods.values()}

    def pods(self) -> Iterable[DaemonPod]:
        return self._pods.values()
