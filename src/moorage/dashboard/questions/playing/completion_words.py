"""Offer words of the cluster for completion: taints, and labels of nodes, pods and namespaces, as candidates."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from itertools import islice

import msgspec

from moorage.dashboard.questions.playing.known_nodes import KnownNodes
from moorage.model.kinds import KINDS
from moorage.plan.simulation.simulation import Simulation

NODES, PODS, NAMESPACES = "node", "pod", "namespace"
#: Pods beyond these hardly have labels that no other has.
_MAX_PODS = 5_000

LabelCounts = dict[str, Counter[str]]


class ClusterWords:
    """Words of a cluster, each kind collected when it is first asked for. `nodes` may be pasted ones."""

    def __init__(self, simulation: Simulation, nodes: Callable[[], KnownNodes]) -> None:
        self._simulation, self._nodes = simulation, nodes

    @cached_property
    def nodes(self) -> KnownNodes:
        return self._nodes()

    def labels(self, of: str) -> LabelCounts:
        """Return the values of every label key of nodes, pods or namespaces, with their numbers."""
        if of == NODES:
            return self.nodes.label_values
        return self._of_pods if of == PODS else self._of_namespaces

    @cached_property
    def _of_pods(self) -> LabelCounts:
        pods = islice(self._simulation.world.all(KINDS.POD), _MAX_PODS)
        return _counted(pod.view.metadata.labels for pod in pods)

    @cached_property
    def _of_namespaces(self) -> LabelCounts:
        return _counted(self._simulation.cluster.namespaces.values())


def _counted(several: Iterable[Mapping[str, str]]) -> LabelCounts:
    counts: LabelCounts = {}
    for labels in several:
        for key, value in labels.items():
            counts.setdefault(key, Counter())[value] += 1
    return counts


MAX_CANDIDATES = 100


class Candidate(msgspec.Struct, frozen=True):
    """One completion: the text to insert, what to show beside it, and what kind of thing it is."""

    insert: str
    label: str
    kind: str
    detail: str = ""
    doc: str = ""


class Completion(msgspec.Struct, frozen=True, rename="camel"):
    """Candidates for the part of a line from `column` to `end_column`, both counted in characters from one."""

    line: int
    column: int
    end_column: int
    candidates: tuple[Candidate, ...]
    context: str = ""


def fitting(candidates: Iterable[Candidate], typed: str) -> tuple[Candidate, ...]:
    """Return those that start with what was typed, then those that hold it; each label once."""
    word = typed.lower()
    by_label: dict[str, Candidate] = {}
    for candidate in candidates:
        by_label.setdefault(candidate.label, candidate)
    starting = [one for one in by_label.values() if one.label.lower().startswith(word)]
    holding = [one for one in by_label.values() if word in one.label.lower() and one not in starting]
    return tuple([*starting, *holding][:MAX_CANDIDATES])
