"""The watcher of rollouts is told what must never happen, event by event, and complains each time; else it does not."""

from itertools import count
from typing import Any

import pytest
from tests.e2e.rollout_laws import DAEMON_SET, DEPLOYMENT, REPLICAS, SURGE, UNAVAILABLE, VERSION, RolloutWatcher

Raw = dict[str, Any]


class Story:
    """Events of pods that are told to a watcher, with growing revisions."""

    def __init__(self) -> None:
        self.watcher = RolloutWatcher()
        self._revisions = count(1)

    def tell(self, event: str, pod: Raw, **changes: Any) -> Raw:
        """`changes`: ready, leaving, phase, node. The pod as it is now."""
        metadata = {**pod["metadata"], "resourceVersion": str(next(self._revisions))}
        if changes.get("leaving"):
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        spec = {**pod["spec"], **({"nodeName": changes["node"]} if "node" in changes else {})}
        status = {**pod["status"], "phase": changes.get("phase", pod["status"]["phase"])}
        if "ready" in changes:
            status["conditions"] = [{"type": "Ready", "status": str(changes["ready"])}]
        told = {"metadata": metadata, "spec": spec, "status": status}
        self.watcher._see(event, told)
        return told

    def replicas(self, number: int, prefix: str = "old") -> list[Raw]:
        """So many pods of the Deployment, ready, each on a node of its own."""
        return [
            self.tell("ADDED", _pod(f"{prefix}-{i}", DEPLOYMENT), node=f"{prefix}-{i}", phase="Running", ready=True)
            for i in range(number)
        ]

    def begun(self) -> list[Raw]:
        pods = self.replicas(REPLICAS)
        self.watcher.begins()
        return pods


def _pod(name: str, app: str, meant_for: str = "") -> Raw:
    labels = {"app": app, VERSION: "1"}
    fields = [{"key": "metadata.name", "operator": "In", "values": [meant_for]}]
    terms = {"nodeSelectorTerms": [{"matchFields": fields}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels},
        "spec": {"affinity": affinity, "containers": [{"resources": {"requests": {"cpu": "5"}}}]},
        "status": {"phase": "Pending"},
    }


@pytest.fixture
def story() -> Story:
    return Story()


def test_as_many_as_the_surge_allows_and_not_one_more(story: Story) -> None:
    story.begun()
    last = story.replicas(SURGE, "new")[-1]
    story.tell("MODIFIED", last, leaving=True)
    (more,) = story.replicas(1, "instead")
    assert story.watcher.most == REPLICAS + SURGE
    story.tell("DELETED", more)
    story.replicas(1, "again")
    with pytest.raises(AssertionError, match="one-too-many"):
        story.tell("ADDED", _pod("one-too-many", DEPLOYMENT))


@pytest.mark.parametrize(
    ("event", "changes"),
    [
        ("MODIFIED", {"ready": False}),
        ("MODIFIED", {"leaving": True}),
        ("DELETED", {}),
        ("MODIFIED", {"phase": "Succeeded"}),
    ],
)
def test_as_few_ready_ones_as_may_be_and_not_one_less(story: Story, event: str, changes: Raw) -> None:
    pods = story.begun()
    for pod in pods[:UNAVAILABLE]:
        story.tell(event, pod, **changes)
    with pytest.raises(AssertionError, match=f"old-{REPLICAS - 1}"):
        story.tell(event, pods[UNAVAILABLE], **changes)


def test_before_all_pods_are_there_few_are_no_problem(story: Story) -> None:
    for pod in story.replicas(3):
        story.tell("DELETED", pod)


def test_a_node_has_one_daemon(story: Story) -> None:
    old = story.tell("ADDED", _pod("agent-1", DAEMON_SET, "n1"), node="n1")
    story.tell("ADDED", _pod("agent-2", DAEMON_SET, "n2"))
    story.tell("MODIFIED", old, leaving=True)
    story.tell("ADDED", _pod("agent-3", DAEMON_SET, "n1"))
    with pytest.raises(AssertionError, match="two pods of a DaemonSet for one node"):
        story.tell("ADDED", _pod("agent-4", DAEMON_SET, "n1"))


@pytest.mark.parametrize("then", ["n2", ""])
def test_a_pod_is_bound_once(story: Story, then: str) -> None:
    pod = story.tell("ADDED", _pod("p", DEPLOYMENT))
    bound = story.tell("MODIFIED", pod, node="n1")
    story.tell("MODIFIED", bound, node="n1")
    with pytest.raises(AssertionError, match=f"p was bound to n1 and then to {then or 'none'}"):
        story.tell("MODIFIED", bound, node=then)


def test_a_pod_of_the_same_name_may_be_bound_elsewhere(story: Story) -> None:
    pod = story.tell("ADDED", _pod("p", DEPLOYMENT), node="n1")
    story.tell("DELETED", pod)
    other = _pod("p", DEPLOYMENT)
    other["metadata"]["uid"] = "another"
    story.tell("ADDED", other, node="n2")


def test_a_node_has_room_for_what_is_on_it(story: Story) -> None:
    first = story.tell("ADDED", _pod("p", DEPLOYMENT), node="n1")
    story.tell("MODIFIED", first, phase="Succeeded")
    story.tell("ADDED", _pod("q", DEPLOYMENT), node="n1")
    with pytest.raises(AssertionError, match="n1 has 8 CPUs"):
        story.tell("ADDED", _pod("r", DEPLOYMENT), node="n1")


@pytest.mark.parametrize("revisions", [(2, 2), (2, 1)])
def test_events_come_once_and_in_order(story: Story, revisions: tuple[int, int]) -> None:
    first, second = (_pod(name, DEPLOYMENT) for name in ("p", "q"))
    for pod, revision in zip((first, second), revisions, strict=True):
        pod["metadata"]["resourceVersion"] = str(revision)
    story.watcher._see("ADDED", first)
    with pytest.raises(AssertionError, match="told twice, or out of order"):
        story.watcher._see("ADDED", second)
