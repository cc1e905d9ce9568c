"""Pods whose expressions are expensive wait for a worker's answers; all others are scheduled meanwhile."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.fake_worker import SLOW, FakeWorker, evaluations
from tests.unit.schedule.live.fake_api import FakeApi
from tests.unit.schedule.live.running import running, settle
from tests.unit.schedule.live.test_claims import DRIVER, add_pod

from moorage.match.evaluation.accounts import BUDGET, CelAnswer
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS

ALL_ON = gates_from({"AllAlpha": True})


def tainted(api: FakeApi, name: str, key: str, effect: str = "NoSchedule") -> None:
    api.node(name, taints=[{"key": key, "value": name, "effect": effect}])


@asynccontextmanager
async def scheduling(api: FakeApi, worker: FakeWorker) -> AsyncIterator[None]:
    isolated = evaluations(worker)
    async with running(api, gates=ALL_ON, evaluations=isolated):
        yield
    await isolated.close()


def notes(api: FakeApi, name: str) -> list[str]:
    return [note for of, reason, note in api.recorded if of == name and reason == "FailedScheduling"]


async def test_a_pod_waits_for_its_evaluations_and_nothing_else_does() -> None:
    api, worker = FakeApi(), FakeWorker()
    tainted(api, "no", "a")
    tainted(api, "yes", "zz")
    async with scheduling(api, worker):
        api.pod("slow", tolerations=[{"expression": SLOW}])
        api.pod("plain", tolerations=[{"operator": "Exists"}])
        await settle(0.1)
        assert api.nodes_of_pods()["plain"]
        assert not api.nodes_of_pods()["slow"]
        await settle(2)
        assert api.nodes_of_pods()["slow"] == "yes"
        # It was over before it was worth to be told.
        assert notes(api, "slow") == []
        api.pod("alike", tolerations=[{"expression": SLOW}])
        await settle()
        assert api.nodes_of_pods()["alike"] == "yes"
        assert len(worker.asked) == 2


async def test_long_waiting_pod_gets_an_event_and_is_scheduled_after_evaluation() -> None:
    api, worker = FakeApi(), FakeWorker()
    for number in range(7):
        tainted(api, f"n{number}", f"k{number}")
    tainted(api, "yes", "zz")
    async with scheduling(api, worker):
        api.pod("slow", tolerations=[{"expression": SLOW}])
        await settle(1.2)
        assert notes(api, "slow") == ["0/8 nodes are available: waiting for 4 evaluations of expensive expressions."]
        await settle(3)
        assert api.nodes_of_pods()["slow"] == "yes"


async def test_many_expressions_of_a_pod_are_asked_about_together() -> None:
    api, worker = FakeApi(), FakeWorker(lambda asked: CelAnswer("10 > 9" in asked.expression, 100), seconds=0.001)
    tainted(api, "n", "a")
    async with scheduling(api, worker):
        api.pod("slow", tolerations=[{"expression": f"{SLOW} || {number} > 9"} for number in range(40)])
        await settle(5)
        assert api.nodes_of_pods()["slow"] == "n"
        assert len(worker.asked) == 16
        assert len({one.expression for one in worker.asked}) == 16


async def test_many_pods_that_wait_do_not_disturb_the_scheduler() -> None:
    api, worker = FakeApi(), FakeWorker()
    for number in range(150):
        tainted(api, f"n{number}", f"k{number}")
    async with scheduling(api, worker):
        for number in range(30):
            api.pod(f"slow-{number}", tolerations=[{"expression": f"{SLOW} && {number} > -1"}])
        await settle(10)
        assert all(notes(api, f"slow-{number}") for number in range(30))
        api.pod("plain", tolerations=[{"operator": "Exists"}])
        await settle(0.1)
        assert api.nodes_of_pods()["plain"]


async def test_a_new_taint_is_asked_about_and_a_deleted_pod_is_not() -> None:
    api, worker = FakeApi(), FakeWorker()
    tainted(api, "no", "a")
    async with scheduling(api, worker):
        api.pod("slow", tolerations=[{"expression": SLOW}])
        await settle(3)
        assert "untolerated taint {a: no}" in notes(api, "slow")[-1]
        tainted(api, "yes", "zz")
        await settle(3)
        assert api.nodes_of_pods()["slow"] == "yes"
        api.pod("gone", tolerations=[{"expression": SLOW + " && true"}])
        await settle(0.1)
        asked = len(worker.asked)
        await api.delete(KINDS.POD, "gone", "default")
        await settle(3)
        assert len(worker.asked) == asked


async def test_beyond_the_budget_the_event_says_so_and_the_pod_is_tried_again_later() -> None:
    api, worker = FakeApi(), FakeWorker(lambda asked: CelAnswer(asked.subject[0] == "zz", BUDGET // 2))  # type: ignore[index]
    for key in ("a", "b", "c"):
        tainted(api, key, key)
    tainted(api, "yes", "zz")
    async with scheduling(api, worker):
        api.pod("dear", tolerations=[{"expression": SLOW}])
        await settle(5)
        (note,) = notes(api, "dear")
        why = "not evaluated: the budget of 20000000 cost units for the pod's expensive expressions is used up"
        assert f"1 node(s) had untolerated taint {{c: c}} ({why})" in note
        assert "1 node(s) had untolerated taint {a: a}," in note
        await settle(310)
        assert api.nodes_of_pods()["dear"] == "yes"


async def test_soft_taints_are_asked_about_before_a_node_is_chosen() -> None:
    api, worker = FakeApi(), FakeWorker()
    tainted(api, "disliked", "a", "PreferNoSchedule")
    tainted(api, "liked", "zz", "PreferNoSchedule")
    async with scheduling(api, worker):
        api.pod("slow", tolerations=[{"expression": SLOW}])
        await settle(2)
        assert api.nodes_of_pods()["slow"] == "liked"


async def test_cordoned_nodes_and_long_expressions_are_left_to_the_worker() -> None:
    api, worker = FakeApi(), FakeWorker(lambda asked: CelAnswer(True, 100))
    api.node("cordoned", unschedulable=True)
    long = " || ".join(["taint.key == 'a'"] * 200)
    async with scheduling(api, worker):
        api.pod("long", tolerations=[{"expression": long}])
        await settle(2)
        assert api.nodes_of_pods()["long"] == "cordoned"
        assert [asked.subject for asked in worker.asked] == [("node.kubernetes.io/unschedulable", "", "NoSchedule")]


async def test_tolerations_of_claims_are_evaluated_by_the_worker_too() -> None:
    api, worker = FakeApi(), FakeWorker()
    api.put(KINDS.DEVICE_CLASS, {"metadata": {"name": "gpu"}, "spec": {}})
    for number, key in enumerate(("a", "zz")):
        name = f"n{number}"
        api.node(name, cpu="64")
        device = {"name": "d", "taints": [{"key": key, "value": "v", "effect": "NoSchedule"}]}
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": [device]}
        api.put(KINDS.RESOURCE_SLICE, {"metadata": {"name": name}, "spec": spec})
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    requests = [{"name": "r", "exactly": {**exactly, "tolerations": [{"expression": SLOW}]}}]
    metadata = {"name": "c", "namespace": "default"}
    async with scheduling(api, worker):
        api.put(KINDS.RESOURCE_CLAIM, {"metadata": metadata, "spec": {"devices": {"requests": requests}}})
        add_pod(api, "slow", "c")
        api.pod("plain")
        await settle(0.1)
        assert api.nodes_of_pods()["plain"]
        assert not api.nodes_of_pods()["slow"]
        await settle(5)
        assert api.nodes_of_pods()["slow"] == "n1"
        assert len(worker.asked) == 2
