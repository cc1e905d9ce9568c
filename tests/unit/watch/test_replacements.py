"""Which pod a new one replaces: as real controllers do it in virtual time, and stories told pod by pod."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.plan.planning import Plan, node, workload
from tests.unit.watch.stories import ChronicleOf, Pods

from moorage.client.protocol import Object
from moorage.model.kinds import KINDS, Kind
from moorage.plan.input.inventory import Key
from moorage.plan.rollout import kind_of_workload, restart
from moorage.plan.simulation.drain import drain
from moorage.watch.happenings import Chronicle, Happening
from moorage.watch.replacements import WINDOW

NODES = (node("n1"), node("n2"), node("n3"))
#: How often it is said of a pod which one it replaces.
NAMES = re.compile(r"instead of (?!one of)(\S+)")


class Played:
    """A settled simulation, of which a Chronicle tells what happens from now on."""

    def __init__(self, *documents: dict[str, Any]) -> None:
        self.simulation = Plan(*NODES, *documents).simulation
        self.chronicle = Chronicle()
        self.happenings: list[Happening] = []
        self.revisions: dict[str, tuple[str, str]] = {}  # of each pod: its owner's UID, and its revision
        for item in self.simulation.world.all(KINDS.REPLICA_SET):
            self.chronicle.replica_set_changed(None, item, self.simulation.clock.now)
        for item in self.simulation.pods():
            self._remember(item)
        self.simulation.api.listeners.append(self._changed)

    def _remember(self, item: Object) -> None:
        metadata = item.view.metadata
        labels = metadata.labels
        revision = labels.get("pod-template-hash") or labels.get("controller-revision-hash", "")
        self.revisions[metadata.name] = metadata.ownerReferences[0].uid, revision

    def _changed(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        now = self.simulation.clock.now
        if kind is KINDS.REPLICA_SET:
            self.chronicle.replica_set_changed(old, new, now)
        elif kind is KINDS.POD:
            if new is not None:
                self._remember(new)
            before, after = (item.view if item is not None else None for item in (old, new))
            self.happenings += self.chronicle.of_pod(before, after, {}, now)

    def restart(self, kind: str = "Deployment") -> None:
        restart(self.simulation, Key(kind, "default", "web"))
        self.simulation.settle()

    def scale(self, replicas: int, kind: str = "Deployment") -> None:
        self.simulation.api.patch(kind_of_workload(kind), "web", "default", {"spec": {"replicas": replicas}}, "")
        self.simulation.settle()

    def drain(self, name: str) -> None:
        drain(self.simulation, [name])
        self.simulation.settle()

    def delete_pod(self) -> str:
        pod = next(iter(self.simulation.pods()))
        self.simulation.api.delete(KINDS.POD, pod.name, "default")
        self.simulation.settle()
        return pod.name

    def pairs(self) -> list[tuple[str, str]]:
        """Return each new pod with the one that it is said to replace."""
        return [
            (happening.subject.rpartition("/")[2], named[1])
            for happening in self.happenings
            if (named := NAMES.search(happening.detail)) is not None
        ]

    def moved(self) -> list[str]:
        return [happening.detail for happening in self.happenings if happening.kind == "moved"]


def web(kind: str = "Deployment", replicas: int = 4, **fields: Any) -> dict[str, Any]:
    return workload(kind, "web", "500m", None, replicas=replicas, **fields)


ROLLING = {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}}}
RECREATE = {"strategy": {"type": "Recreate"}}


@pytest.mark.parametrize("strategy", [{}, ROLLING, RECREATE])
def test_rollouts_and_scaling_move_no_pod(strategy: dict[str, Any]) -> None:
    played = Played(web(**strategy))
    played.restart()
    played.restart()
    played.scale(1)
    played.scale(5)
    played.restart()
    assert [happening.detail for happening in played.happenings if happening.kind == "placed"]
    assert played.moved() == []
    assert played.pairs() == []


def test_a_drain_after_two_rollouts_moves_the_pods_of_the_last_one() -> None:
    played = Played(web())
    played.restart()
    played.restart()
    played.simulation.run_until(played.simulation.clock.now + 2 * WINDOW)
    before = {pod.name: pod.view.spec.nodeName for pod in played.simulation.pods()}
    played.drain("n1")
    there = [name for name, where in before.items() if where == "n1"]
    assert there
    assert len(played.moved()) == len(there)
    assert all(text.startswith("from n1 to ") for text in played.moved())
    for new, old in played.pairs():
        assert old in there
        assert played.revisions[new] == played.revisions[old]


def test_a_deleted_pod_is_replaced_unless_its_replica_set_became_smaller() -> None:
    played = Played(web(replicas=2))
    old = played.delete_pod()
    assert [pair[1] for pair in played.pairs()] == [old]
    played.scale(1)
    played.scale(2)
    assert len(played.pairs()) == 1


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_pods_with_an_identity_replace_themselves(kind: str) -> None:
    replicas = {"replicas": 2} if kind == "StatefulSet" else {}
    played = Played(workload(kind, "web", "500m", None, **replicas))
    name = played.delete_pod()
    last = played.happenings[-1]
    if kind == "StatefulSet":
        assert (last.subject, last.detail.startswith("from n") or last.detail.endswith(" again")) == (
            f"default/{name}",
            True,
        )
    else:
        assert re.fullmatch(rf"on n\d again, instead of {name}", last.detail)
    played.happenings.clear()
    played.restart(kind)
    placed = [happening.detail for happening in played.happenings if happening.kind in ("placed", "moved")]
    assert placed
    assert all(re.fullmatch(r"on n\d( again)? with a new revision(, before on n\d)?", text) for text in placed)
    assert played.pairs() == []


Story = Callable[[Pods], None]


def one_evicted(pods: Pods) -> None:
    pods.evicted("a", "n1")
    pods.placed("b", "n2")


def two_evicted_from_one_node(pods: Pods) -> None:
    pods.evicted("a", "n1")
    pods.evicted("b", "n1")
    pods.placed("c", "n2")
    pods.placed("d", "n1")


def two_evicted_from_two_nodes(pods: Pods) -> None:
    pods.evicted("a", "n1")
    pods.evicted("b", "n2")
    pods.placed("c", "n3")
    pods.placed("d", "n3")
    pods.placed("e", "n3")


def one_after_the_other(pods: Pods) -> None:
    pods.evicted("a", "n1")
    pods.created("c")
    pods.evicted("b", "n2")
    pods.created("d")
    pods.gets_node("d", "n3")
    pods.gets_node("c", "n3")


def made_before_the_other_left(pods: Pods) -> None:
    pods.created("b")
    pods.evicted("a", "n1")
    pods.gets_node("b", "n2")


def waits_for_long(pods: Pods) -> None:
    pods.evicted("a", "n1")
    pods.created("b")
    pods.later(10 * WINDOW)
    pods.gets_node("b", "n2")


def made_much_later(pods: Pods) -> None:
    pods.evicted("a", "n1")
    pods.later(WINDOW + 1)
    pods.placed("b", "n2")


def another_revision(pods: Pods) -> None:
    pods.evicted("a", "n1")
    pods.placed("b", "n2", revision="2")


def another_owner(pods: Pods) -> None:
    pods.evicted("a", "n1")
    pods.placed("b", "n2", owner="other", revision="1")


def deleted_while_nothing_is_known(pods: Pods) -> None:
    pods.deleted("a", "n1")
    pods.placed("b", "n2")


def deleted_from_a_known_replica_set(pods: Pods) -> None:
    pods.has_replicas(3)
    pods.deleted("a", "n1")
    pods.placed("b", "n2")


def scaled_down_and_up(pods: Pods) -> None:
    pods.has_replicas(3)
    pods.has_replicas(2)
    pods.deleted("a", "n1")
    pods.has_replicas(3)
    pods.placed("b", "n2")


def scaled_down_is_seen_late(pods: Pods) -> None:
    pods.has_replicas(3)
    pods.deleted("a", "n1")
    pods.has_replicas(2)
    pods.has_replicas(3)
    pods.placed("b", "n2")


def evicted_and_scaled_down(pods: Pods) -> None:
    pods.has_replicas(3)
    pods.evicted("a", "n1")
    pods.has_replicas(2)
    pods.has_replicas(3)
    pods.placed("b", "n2")


def stateful_set_waits_until_it_is_gone(pods: Pods) -> None:
    pods.kind = "StatefulSet"
    pods.evicted("web-0", "n1", gone=False)
    pods.later(3 * WINDOW)
    pods.gone("web-0")
    pods.placed("web-0", "n2")


def stateful_set_scaled_up_the_next_day(pods: Pods) -> None:
    pods.kind = "StatefulSet"
    pods.deleted("web-1", "n1")
    pods.later(86_400)
    pods.placed("web-1", "n2")


def other_ordinals(pods: Pods) -> None:
    pods.kind = "StatefulSet"
    pods.evicted("web-0", "n1")
    pods.placed("web-1", "n2")


def job_of_indexes(pods: Pods) -> None:
    pods.kind = "Job"
    pods.evicted("j-0-x", "n1", index="0")
    pods.evicted("j-1-x", "n2", index="1")
    pods.placed("j-1-y", "n3", index="1")
    pods.placed("j-0-y", "n3", index="0")


def job_pod_failed_by_itself(pods: Pods) -> None:
    pods.kind = "Job"
    pods.failed("j-x", "n1")
    pods.placed("j-y", "n2")


def kubelet_evicts(pods: Pods) -> None:
    pods.failed("a", "n1", reason="TerminationByKubelet")
    pods.placed("b", "n2")


def without_owner(pods: Pods) -> None:
    pods.kind = ""
    pods.evicted("a", "n1")
    pods.placed("a", "n2")


@pytest.mark.parametrize(
    ("story", "placed"),
    [
        (one_evicted, ["b moved from n1 to n2, instead of a"]),
        (
            two_evicted_from_one_node,
            [
                "c moved from n1 to n2, instead of one of 2 pods",
                "d placed on n1 again, instead of one of 2 pods",
            ],
        ),
        (
            two_evicted_from_two_nodes,
            [
                "c placed on n3, replaces one of 2 pods that left n1, n2",
                "d placed on n3, replaces one of 2 pods that left n1, n2",
                "e placed on n3",
            ],
        ),
        (one_after_the_other, ["d moved from n2 to n3, instead of b", "c moved from n1 to n3, instead of a"]),
        (made_before_the_other_left, ["b placed on n2"]),
        (waits_for_long, ["b moved from n1 to n2, instead of a"]),
        (made_much_later, ["b placed on n2"]),
        (another_revision, ["b placed on n2"]),
        (another_owner, ["b placed on n2"]),
        (deleted_while_nothing_is_known, ["b placed on n2"]),
        (deleted_from_a_known_replica_set, ["b moved from n1 to n2, instead of a"]),
        (scaled_down_and_up, ["b placed on n2"]),
        (scaled_down_is_seen_late, ["b placed on n2"]),
        (evicted_and_scaled_down, ["b placed on n2"]),
        (stateful_set_waits_until_it_is_gone, ["web-0 moved from n1 to n2"]),
        (stateful_set_scaled_up_the_next_day, ["web-1 placed on n2"]),
        (other_ordinals, ["web-1 placed on n2"]),
        (
            job_of_indexes,
            ["j-1-y moved from n2 to n3, instead of j-1-x", "j-0-y moved from n1 to n3, instead of j-0-x"],
        ),
        (job_pod_failed_by_itself, ["j-y placed on n2"]),
        (kubelet_evicts, ["b moved from n1 to n2, instead of a"]),
        (without_owner, ["a placed on n2"]),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_stories(story: Story, placed: list[str]) -> None:
    pods = Pods(ChronicleOf())
    story(pods)
    assert pods.told_placed() == placed


def test_what_is_remembered_is_bounded() -> None:
    pods = Pods(ChronicleOf())
    pods.step = 0.0
    for number in range(300):
        pods.evicted(f"a{number}", "n1")
    for number in range(300):
        pods.placed(f"b{number}", "n2")
    assert sum("moved" in text for text in pods.told_placed()) == 100
