"""What watches say of pods and nodes, in whatever order, and what the scheduler makes of it."""

from typing import Any

from msgspec.structs import replace
from tests.unit.schedule.clusters import Raw, cluster_of, node, requests

from moorage.client.protocol import Template
from moorage.model.gates import default_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.schedule.config.default_profile import default_profile
from moorage.schedule.cycle import Bind, Scheduler
from moorage.schedule.live.pod_feed import Assumptions, PodFeed, are_alike

DEFAULT = "default-scheduler"


def pod(name: str = "p", uid: str = "1", cpu: str = "1", **more: Any) -> Pod:
    metadata: Raw = {"name": name, "namespace": "default", "uid": uid, **more.pop("metadata", {})}
    status = more.pop("status", {})
    spec = {"containers": requests(cpu=cpu), "schedulerName": DEFAULT, **more}
    return convert_view({"metadata": metadata, "spec": spec, "status": status}, Pod)


class Bench:
    def __init__(self, *names: str) -> None:
        self.scheduler = Scheduler({DEFAULT: default_profile(default_gates())}, cluster_of(*map(node, names)))
        self.assumptions = Assumptions()
        self.feed = PodFeed(self.scheduler, self.assumptions)

    def tell(self, said: Pod) -> None:
        self.feed.pod_changed(f"default/{said.metadata.name}", said, 0.0)

    def bind(self) -> Bind:
        action = self.scheduler.step(0.0)
        assert isinstance(action, Bind)
        self.assumptions.make(action, 0.0)
        return action

    def where(self, name: str = "p") -> str:
        record = self.scheduler.cluster.pods.get(f"default/{name}")
        return self.scheduler.cluster.nodes.node(record.slot).metadata.name if record is not None else ""

    def waits(self, name: str = "p") -> bool:
        return f"default/{name}" in self.scheduler.queue


def test_a_pod_that_has_a_node_never_goes_back_to_the_queue() -> None:
    bench = Bench("n1")
    bench.tell(pod(nodeName="n1"))
    bench.tell(pod())  # what it was before, heard late
    assert bench.where() == "n1"
    assert not bench.waits()


def test_status_that_nominates_a_waiting_pod_is_followed() -> None:
    bench = Bench("n1", "n2")
    gates = [{"name": "wait"}]
    bench.tell(pod(schedulingGates=gates))
    for name, labels in (("n1", {}), ("n2", {}), ("", {}), ("n2", {"a": "b"})):
        bench.tell(pod(schedulingGates=gates, status={"nominatedNodeName": name}, metadata={"labels": labels}))
        slot = bench.scheduler.nominations.slot_of("default/p")
        assert slot == bench.scheduler.cluster.nodes.slot_of.get(name)


def test_node_that_a_pod_did_not_get_is_no_nomination() -> None:
    bench = Bench("n1")
    bench.tell(pod())
    action = bench.bind()
    bench.tell(pod(status={"nominatedNodeName": "n1"}))  # the scheduler's own, written before the binding
    bench.feed.bind_failed(bench.assumptions[action.record.key], 0.0)
    assert bench.waits()
    assert not bench.scheduler.nominations


def test_updates_during_binding_are_kept_for_the_next_attempt() -> None:
    bench = Bench("n1")
    bench.tell(pod())
    action = bench.bind()
    changed = pod(cpu="2", metadata={"labels": {"a": "b"}})
    bench.tell(changed)
    assert bench.where() == "n1"
    assumption = bench.assumptions.get("default/p")
    assert assumption is not None
    bench.feed.bind_failed(assumption, 0.0)
    assert bench.where() == ""
    queued = bench.scheduler.queue.get("default/p")
    assert queued is not None
    assert queued.record.pod is changed
    assert queued.record.shape is not action.record.shape or queued.record.shape.labels == {"a": "b"}


def test_a_pod_of_the_same_name_takes_the_place_of_the_old_one() -> None:
    bench = Bench("n1")
    bench.tell(pod())
    bench.bind()
    bench.tell(pod(uid="2"))
    assert bench.where() == ""
    assert bench.waits()
    assert len(bench.assumptions) == 0
    bench.feed.pod_gone("default/p", pod(uid="1"), 0.0)  # the old one's end, heard late
    assert bench.waits()


def test_pod_bound_elsewhere_counts_on_that_node() -> None:
    bench = Bench("n1", "n2")
    bench.tell(pod())
    action = bench.bind()
    assumption = bench.assumptions.get("default/p")
    assert assumption is not None
    other = "n2" if action.node == "n1" else "n1"
    bench.tell(pod(nodeName=other))
    assert bench.where() == other
    bench.feed.bind_failed(assumption, 0.0)
    assert bench.where() == other
    assert not bench.waits()


def test_pods_of_a_node_that_goes_count_again_when_it_comes_back() -> None:
    bench = Bench("n1")
    bench.tell(pod(nodeName="n1"))
    bench.feed.node_gone("n1", 0.0)
    assert bench.where() == ""
    bench.feed.node_changed(node("n1"), 0.0)
    assert bench.where() == "n1"
    bench.feed.node_gone("n1", 0.0)
    bench.feed.pod_gone("default/p", pod(nodeName="n1"), 0.0)
    bench.feed.node_changed(node("n1"), 0.0)
    assert bench.where() == ""


def test_heartbeats_cause_no_events() -> None:
    bench = Bench("n1")
    generation = bench.scheduler.cluster.nodes.generation
    beat = node("n1", status={"conditions": [{"type": "Ready", "status": "True"}]})
    bench.feed.node_changed(beat, 0.0)
    assert bench.scheduler.cluster.nodes.generation == generation
    assert bench.scheduler.cluster.nodes.node(bench.scheduler.cluster.nodes.slot_of["n1"]) is beat
    bench.feed.node_changed(node("n1", unschedulable=True), 0.0)
    assert bench.scheduler.cluster.nodes.generation > generation


def test_finished_pods_leave_and_those_being_deleted_are_not_queued() -> None:
    bench = Bench("n1")
    bench.tell(pod(nodeName="n1"))
    bench.tell(pod(nodeName="n1", status={"phase": "Failed"}))
    assert bench.where() == ""
    bench.tell(pod(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}))
    assert not bench.waits()


def test_pods_that_scheduling_cannot_tell_apart_are_alike() -> None:
    assert are_alike(pod(), pod(nodeName="n1", status={"phase": "Running"}))
    assert not are_alike(pod(), pod(cpu="2"))
    assert not are_alike(pod(), pod(metadata={"labels": {"a": "b"}}))
    assert not are_alike(pod(), pod(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}))
    assert not are_alike(pod(schedulingGates=[{"name": "wait"}]), pod())


def test_pods_of_a_template_share_the_shape_that_the_cluster_gives() -> None:
    bench = Bench("n1")
    cluster, template, claiming = bench.scheduler.cluster, Template(), Template()
    claim = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    for name in ("a", "b"):
        bench.feed.pod_changed(f"default/{name}", pod(name, name), 0.0, template)
        bench.feed.pod_changed(f"default/{name}-c", pod(f"{name}-c", f"{name}-c", volumes=claim), 0.0, claiming)
    first = cluster.shape_of(pod())
    assert {waiting.record.shape for waiting in bench.scheduler.queue} == {first, cluster.shape_of(pod(volumes=claim))}
    assert [list(shapes.values()) for shapes in template.shape[1].values()] == [[first]]
    assert list(claiming.shape[1].values()) == [{}]  # its shape changes with the claims
    template.shape = (object(), cluster.shape_of(pod(cpu="7")))  # of another scheduler, or from before a retirement
    bench.feed.pod_changed("default/c", pod("c", "c"), 0.0, template)
    waiting = bench.scheduler.queue.get("default/c")
    assert waiting is not None
    assert waiting.record.shape is first


def test_a_pod_of_a_template_has_another_shape_once_it_has_labels_from_its_node() -> None:
    bench = Bench("n1")
    cluster, template = bench.scheduler.cluster, Template()
    bound = {}
    for name in ("a", "b"):
        waiting = pod(name, name)
        bench.feed.pod_changed(f"default/{name}", waiting, 0.0, template)
        metadata = replace(waiting.metadata, labels={**waiting.metadata.labels, "zone": "z"})
        bound[name] = replace(waiting, metadata=metadata, spec=replace(waiting.spec, nodeName="n1"))
        bench.feed.pod_changed(f"default/{name}", bound[name], 0.0, template)
    shapes = {cluster.pods[f"default/{name}"].shape for name in bound}
    assert shapes == {cluster.shape_of(bound["a"])}
    assert shapes != {cluster.shape_of(pod())}


def on_node(said: Pod, **labels: str) -> Pod:
    metadata = replace(said.metadata, labels={**said.metadata.labels, **labels})
    return replace(said, metadata=metadata, spec=replace(said.spec, nodeName="n1"))


def test_labels_from_a_node_are_recounted_only_where_a_selector_reads_them() -> None:
    bench = Bench("n1")
    cluster = bench.scheduler.cluster
    bench.tell(on_node(pod()))
    record, free = cluster.pods["default/p"], int(cluster.nodes.free("cpu")[0])
    everything = cluster.count_pods("all", lambda namespace, labels, deleting: True)
    bench.tell(on_node(pod(), zone="a"))
    assert cluster.pods["default/p"] is record  # swapped in place
    assert record.shape is cluster.shape_of(record.pod)
    assert record.shape.slots == {0: 1}
    zoned = cluster.count_pods("zoned", lambda namespace, labels, deleting: labels.get("zone") == "b")
    bench.tell(on_node(pod(), zone="b"))
    assert cluster.pods["default/p"] is not record  # one more for the second selector
    assert [everything.on, zoned.on] == [{0: 1}, {0: 1}]
    assert int(cluster.nodes.free("cpu")[0]) == free


def test_a_resized_pod_counts_with_what_it_asks_for_now() -> None:
    bench = Bench("n1")
    bench.tell(on_node(pod()))
    free = int(bench.scheduler.cluster.nodes.free("cpu")[0])
    bench.tell(on_node(pod(cpu="3")))
    assert free - int(bench.scheduler.cluster.nodes.free("cpu")[0]) == 2000


def resized(wanted: str, has: str, reason: str = "", **spec: Any) -> Pod:
    """Return a bound pod whose resize its kubelet has not carried out."""
    requests = {"requests": {"cpu": has}}
    condition = {"type": "PodResizePending", "status": "True", "reason": reason}
    status = {
        "phase": "Running",
        "containerStatuses": [{"name": "c", "resources": requests, "allocatedResources": {"cpu": has}}],
        "conditions": [condition] if reason else [],
    }
    return pod(cpu=wanted, nodeName="n1", metadata={"generation": 2}, status=status, **spec)


def test_pod_that_is_being_resized_counts_with_the_larger_requests() -> None:
    """As PodRequests with UseStatusResources; of an infeasible resize only what the pod has counts."""
    bench = Bench("n1")
    free = bench.scheduler.cluster.nodes.free("cpu")
    for said, left in (
        (resized("3", "1"), 1000),
        (resized("1", "3"), 1000),
        (resized("1", "1"), 3000),
        (resized("3", "1", "Deferred"), 1000),
        (resized("3", "1", "Infeasible"), 3000),
    ):
        bench.tell(said)
        assert free[0] == left


def test_resources_at_pod_level_that_are_being_resized_count_likewise() -> None:
    bench = Bench("n1")
    free = bench.scheduler.cluster.nodes.free("cpu")
    for wanted, has, left in (("3", "2", 1000), ("2", "3", 1000), ("2", "2", 2000)):
        status = {"resources": {"requests": {"cpu": has}}, "allocatedResources": {"cpu": has}}
        spec: Raw = {"resources": {"requests": {"cpu": wanted}}, "nodeName": "n1"}
        bench.tell(pod(metadata={"generation": 2}, status=status, **spec))
        assert free[0] == left
