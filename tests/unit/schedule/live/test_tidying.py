"""Pods that are like no other come and go: what is remembered of them stays within bounds, and counts stay right."""

from tests.unit.schedule.live.fake_api import FakeApi
from tests.unit.schedule.live.running import running, settle

from moorage.model.kinds import KINDS


async def test_shapes_of_pods_that_are_gone_are_forgotten() -> None:
    api = FakeApi()
    api.node("n1", cpu="4")
    api.node("n2", cpu="4")
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
    async with running(api, shapes_to_spare=10) as live:
        for number in range(60):
            api.pod(f"db-{number}", labels={"app": "db", "index": str(number)}, affinity=apart)
            await settle()
            if number >= 2:
                api.drop(KINDS.POD, f"default/db-{number - 2}")
        await settle(60)
        assert len(live.scheduler.cluster.shapes) < 40
        assert len(live.scheduler.cluster.pods) == 2
        assert sorted(api.nodes_of_pods().values()) == ["n1", "n2"]
        api.pod("db-58b", labels={"app": "db", "index": "0"}, affinity=apart)  # like one that was forgotten
        await settle(60)
        assert api.nodes_of_pods()["db-58b"] == ""
        api.drop(KINDS.POD, "default/db-59")
        await settle(60)
        assert api.nodes_of_pods()["db-58b"] != ""
