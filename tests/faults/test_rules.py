"""The rules of a cluster hold for what may happen, and are found broken where they are."""

import json
from typing import Any

from tests.faults.check.cluster_rules import ClusterRules, Workload
from tests.faults.load.probes import Probe, slowest_since, working_since
from tests.faults.summary import quantile

LEASE = "/registry/leases/kube-system/kube-scheduler"


def pod(name: str, node: str = "", *, app: str = "web", ready: bool = True, gone: bool = False) -> Any:
    conditions = [{"type": "Ready", "status": str(ready)}]
    metadata: dict[str, Any] = {"name": name, "namespace": "n", "uid": f"uid-{name}", "labels": {"app": app}}
    if gone:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        conditions.append({"type": "DisruptionTarget", "status": "True"})
    spec = {"nodeName": node} if node else {}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running", "conditions": conditions}}


class Told:
    """Rules that are told of changes, one after the other."""

    def __init__(self, **workloads: Workload) -> None:
        self.rules = ClusterRules(workloads)
        self._revision = 0

    def pod(self, document: Any, *, deleted: bool = False) -> None:
        self._tell(f"/registry/pods/n/{document['metadata']['name']}", None if deleted else document)

    def lease(self, holder: str, renewed: int, seen: float, seconds: int = 15) -> None:
        text = f"2026-01-01T00:{renewed // 60:02}:{renewed % 60:02}.000000Z"
        spec = {"holderIdentity": holder, "leaseDurationSeconds": seconds, "renewTime": text}
        self._tell(LEASE, {"spec": spec}, seen)

    def _tell(self, key: str, document: Any, seen: float = 0.0) -> None:
        self._revision += 1
        self.rules.hear(self._revision, key, None if document is None else json.dumps(document).encode(), seen)

    @property
    def broken(self) -> list[str]:
        return [violation.rule for violation in self.rules.violations]


def test_a_pod_is_bound_once() -> None:
    told = Told()
    told.pod(pod("a"))
    told.pod(pod("a", "node-1"))
    told.pod(pod("a", "node-1", ready=False))
    assert told.broken == []
    told.pod(pod("a", "node-2"))
    assert told.broken == ["pod bound twice"]


def test_acknowledged_bindings_are_in_the_store() -> None:
    told = Told()
    told.pod(pod("a", "node-1"))
    told.pod(pod("a"), deleted=True)
    assert told.rules.check_bindings({"uid-a": "node-1"}) == []
    lost = told.rules.check_bindings({"uid-a": "node-2", "uid-b": "node-1"})
    assert [violation.rule for violation in lost] == ["acknowledged binding lost"] * 2


def test_a_pod_of_the_same_name_is_another_pod() -> None:
    told = Told()
    told.pod(pod("a", "node-1"))
    told.pod(pod("a"), deleted=True)
    told.pod(pod("a", "node-2"))
    assert told.broken == []


def test_a_bound_pod_stays_bound() -> None:
    told = Told()
    told.pod(pod("a", "node-1"))
    told.pod(pod("a"))
    assert told.broken == ["pod bound twice"]


def test_no_more_pods_than_surge_allows() -> None:
    told = Told(web=Workload(most=2))
    told.pod(pod("a"))
    told.pod(pod("b"))
    told.pod(pod("other", app="other"))
    told.pod(pod("b", gone=True))
    told.pod(pod("c"))
    assert told.broken == []
    told.pod(pod("d"))
    told.pod(pod("d", "node-1"))
    assert told.broken == ["more pods than surge allows"]


def test_evictions_keep_a_budget() -> None:
    told = Told(web=Workload(least_healthy=2))
    for name in "abc":
        told.pod(pod(name))
    told.pod(pod("a", gone=True))
    assert told.broken == []
    assert told.rules.evictions == 1
    told.pod(pod("c", ready=False))
    told.pod(pod("c", ready=False, gone=True))
    assert told.broken == [], "it was not healthy before"
    told.pod(pod("b", gone=True))
    assert told.broken == ["budget broken"]


def test_a_lease_changes_hands_when_it_has_run_out() -> None:
    told = Told()
    told.lease("a", 0, 100.0)
    told.lease("a", 10, 110.0)
    told.lease("b", 26, 126.0)
    assert told.broken == []
    told.lease("", 30, 130.0)
    told.lease("a", 31, 131.0)
    assert told.broken == [], "it was given up"
    told.lease("b", 40, 140.0)
    assert told.broken == ["lease taken too early"]
    assert told.rules.handovers == {LEASE: 2}


def test_a_stepped_clock_and_a_late_recorder_are_no_proof() -> None:
    told = Told()
    told.lease("a", 300, 100.0)
    told.lease("b", 2, 116.0)
    told.lease("a", 30, 117.0)
    assert told.broken == []


def test_writes_work_since() -> None:
    fine = [Probe(number / 10, number / 10 + 0.01, True) for number in range(20)]
    assert working_since(fine, 1.0) == 1.01
    assert working_since(fine[:12], 1.0) is None, "not for long enough"
    broken = [probe._replace(works=not 10 <= place <= 13) for place, probe in enumerate(fine)]
    assert working_since(broken, 1.0) == 1.41
    assert working_since([], 0.0) is None
    late = [*fine, Probe(1.0, 6.0, True)]
    assert working_since(late, 1.0) == 1.01
    assert slowest_since(late, 1.0) == 5.0


def test_quantiles() -> None:
    assert [quantile([3.0, 1.0, 2.0], share) for share in (0.0, 0.5, 0.9)] == [1.0, 2.0, 3.0]
