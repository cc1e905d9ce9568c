"""A template with fields that the API server does not store any more, because their gate was switched off."""

from tests.unit.control.workloads import both, deployment
from tests.virtual_cluster import VirtualCluster
from tests.virtual_kubelet import VirtualKubelet
from tests.virtual_time import time_of_day

from moorage.model.gates import MATCH_LABEL_KEYS_IN_POD_AFFINITY, default_gates
from moorage.model.kinds import KINDS
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.verbs.api import Api

TERM = {
    "topologyKey": "kubernetes.io/hostname",
    "labelSelector": {"matchLabels": {"app": "web"}},
    "matchLabelKeys": ["pod-template-hash"],
}


async def test_a_replica_set_that_lost_fields_is_not_made_again_and_again() -> None:
    off = default_gates().with_gate(MATCH_LABEL_KEYS_IN_POD_AFFINITY, False)
    async with VirtualCluster.running(both, gates=off) as cluster, VirtualKubelet.running(cluster):
        # Written when the gate was on: by an API server that has it, to the same store.
        before = Api(cluster.store, default_gates(), clock=time_of_day)
        await before.start()
        wanted = deployment("web", 2)
        affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}
        wanted["spec"]["template"]["spec"]["affinity"] = affinity
        await LoopbackClient(before, "test").create(KINDS.DEPLOYMENT, wanted)
        await cluster.settle(60)
        [found] = await cluster.all(KINDS.REPLICA_SET)
        assert "matchLabelKeys" not in str(found.raw)
        made = await cluster.client.get(KINDS.DEPLOYMENT, "web", "default")
        assert "matchLabelKeys" in str(made.raw)
        assert made.view.status.collisionCount is None
        assert (made.view.status.updatedReplicas, made.view.status.availableReplicas) == (2, 2)
        # The next revision is another one, and rolled out as ever.
        image = {"template": {"spec": {"containers": [{"name": "c", "image": "two"}]}}}
        await cluster.client.patch(KINDS.DEPLOYMENT, "web", "default", {"spec": image})
        await cluster.settle(60)
        sizes = {one.name: one.view.status.replicas for one in await cluster.all(KINDS.REPLICA_SET)}
        assert sorted(sizes.values()) == [0, 2]
        assert sizes[found.name] == 0
