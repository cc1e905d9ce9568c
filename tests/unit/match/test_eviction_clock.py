"""When a pod leaves its node because of NoExecute taints, in words."""

import math

import pytest

from moorage.match.eviction_clock import STAYS, deadline_on
from moorage.match.taint_eviction import When
from moorage.model.gates import gates_from
from moorage.model.go.times import time_text
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.node import Node, NodeSpec, Taint
from moorage.model.types.pod import Pod, PodCondition, PodSpec, PodStatus, Toleration

GATES = gates_from({"AllAlpha": True})
NOW = 1_800_000_000.0


def node(*taints: Taint) -> Node:
    return Node(metadata=ObjectMeta(name="n"), spec=NodeSpec(taints=taints))


def taint(key: str, value: str = "", added: float | None = None, effect: str = "NoExecute") -> Taint:
    return Taint(key=key, value=value, effect=effect, timeAdded=time_text(NOW + added) if added is not None else None)


def pod(*tolerations: Toleration, bound: float | None = None, deleted: str | None = None) -> Pod:
    conditions: tuple[PodCondition, ...] = ()
    if bound is not None:
        conditions = (PodCondition(type="PodScheduled", status="True", lastTransitionTime=time_text(NOW + bound)),)
    return Pod(
        metadata=ObjectMeta(name="p", namespace="default", deletionTimestamp=deleted),
        spec=PodSpec(nodeName="n", tolerations=tolerations),
        status=PodStatus(conditions=conditions),
    )


def exists(key: str, seconds: int | None = None) -> Toleration:
    return Toleration(key=key, operator="Exists", effect="NoExecute", tolerationSeconds=seconds)


LT_5 = Toleration(key="fp", operator="Lt", value="5", effect="NoExecute")


@pytest.mark.parametrize(
    ("taints", "tolerations", "text"),
    [
        ((), (), ""),
        ((taint("fp", "3", effect="NoSchedule"),), (), ""),
        ((taint("fp", "3"),), (LT_5,), STAYS),
        ((taint("fp", "30"),), (LT_5,), "evicted at once: 30 < 5 is false (taint fp=30, toleration Lt 5)"),
        (
            (taint("fp", "30"),),
            (LT_5, Toleration(key="fp", operator="Equal", value="31")),
            "evicted at once: 30 < 5 is false (taint fp=30, toleration Lt 5); 30 = 31 is false (toleration Equal 31)",
        ),
        (
            (taint("fp", "30"),),
            (),
            "evicted at once: fp=30 is not tolerated: no toleration is for its key and effect",
        ),
        (
            (taint("fp", "30"),),
            (Toleration(key="fp", operator="Exists", effect="NoSchedule"),),
            "evicted at once: fp=30 is not tolerated: its effect is NoExecute, the toleration's is NoSchedule",
        ),
        ((taint("fp", "3"),), (exists("fp", 0),), "evicted at once: fp=3 is tolerated for 0 s"),
        ((taint("fp", "3", added=-7),), (exists("fp", 30),), "leaves in 23 s: fp=3 is tolerated for 30 s"),
        ((taint("fp", "3"),), (exists("fp", 30),), "leaves in 30 s: fp=3 is tolerated for 30 s"),
        ((taint("fp", "3", added=-40),), (exists("fp", 30),), "leaves now: fp=3 is tolerated for 30 s"),
        ((taint("fp", "3", added=0),), (exists("fp", 3600),), "leaves in 3,600 s: fp=3 is tolerated for 3,600 s"),
        # The shortest time counts; of two that began at different moments, the one that is over first.
        (
            (taint("a", added=0), taint("b", added=0)),
            (exists("a", 30), exists("b", 10)),
            "leaves in 10 s: b is tolerated for 10 s",
        ),
        (
            (taint("a", added=-25), taint("b", added=0)),
            (exists("a", 30), exists("b", 10)),
            "leaves in 5 s: a is tolerated for 30 s",
        ),
        ((taint("a", added=0),), (exists("a", 2**63 - 1),), STAYS),
    ],
)
def test_deadline_in_words(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...], text: str) -> None:
    assert deadline_on(node(*taints), pod(*tolerations), GATES, NOW).text == text


def test_the_time_begins_when_the_pod_was_bound_if_that_was_later() -> None:
    bound_later = deadline_on(node(taint("fp", "3", added=-100)), pod(exists("fp", 30), bound=-10), GATES, NOW)
    assert (bound_later.when, bound_later.due, bound_later.seconds) == (When.AFTER, NOW + 20, 20)


def test_a_pod_that_is_being_deleted_or_has_no_node_has_no_deadline() -> None:
    going = pod(deleted=time_text(NOW))
    assert deadline_on(node(taint("fp")), going, GATES, NOW).text == ""
    nowhere = deadline_on(None, pod(), GATES, NOW)
    assert (nowhere.leaves, nowhere.due, nowhere.text) == (False, math.inf, "")


def test_tolerations_whose_gate_is_off_evict_at_once() -> None:
    clock = deadline_on(node(taint("fp", "3")), pod(LT_5), gates_from({}), NOW)
    assert clock.when is When.NOW
    assert clock.text.startswith("evicted at once: operator Lt needs the feature gate TaintTolerationComparison")
