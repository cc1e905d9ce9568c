"""A kubelet admits a pod with an expensive expression when its answer is known, and others meanwhile."""

from tests.fake_worker import SLOW, FakeWorker, evaluations
from tests.objects import taint
from tests.unit.run.simulation import simulating

from moorage.model.gates import gates_from

ALL_ON = gates_from({"AllAlpha": True})


async def test_a_bound_pod_waits_for_the_answer_and_is_then_started_or_refused() -> None:
    isolated = evaluations(FakeWorker(seconds=5))
    async with simulating(ALL_ON, evaluations=isolated) as simulation:
        await simulation.node("no", [taint("a", effect="NoExecute")])
        await simulation.node("yes", [taint("zz", effect="NoExecute")])
        slow = [{"expression": SLOW}]
        await simulation.pod("refused", "no", tolerations=slow)
        await simulation.pod("started", "yes", tolerations=slow)
        await simulation.pod("plain", "yes", tolerations=[{"operator": "Exists"}])
        await simulation.settle(2)
        phases = [(await simulation.status(name)).get("phase") for name in ("refused", "started", "plain")]
        assert phases == ["Pending", "Pending", "Running"]
        await simulation.settle(20)
        assert (await simulation.status("started"))["phase"] == "Running"
        refused = await simulation.status("refused")
        assert (refused["phase"], refused["reason"]) == ("Failed", "TaintToleration")
    await isolated.close()
