import json
import random
from typing import Any

import pytest
from tests.unit.plan.planning import node, pod, running
from tests.unit.plan.pools.pool_worlds import TYPES, Raw, daemon_set, node_pool, pools_of, settled

from moorage.model.kinds import KINDS
from moorage.model.types.pod import Pod
from moorage.plan.pools.pool_nodes import NodeKind, PoolNodes
from moorage.plan.simulation.simulation import Simulation

ZONE = "topology.kubernetes.io/zone"
SPOT_TAINT = {"key": "spot", "value": "950", "effect": "NoSchedule"}
TOLERATION = {"key": "spot", "operator": "Lt", "value": "960", "effect": "NoSchedule"}


def in_zone(name: str, zone: str, cpu: str = "1") -> Raw:
    made = node(name, cpu)
    made["metadata"]["labels"][ZONE] = zone
    return made


def asked(simulation: Simulation, name: str) -> Pod:
    found = simulation.world.get(KINDS.POD, f"default/{name}")
    assert found is not None
    view: Pod = found.view
    return view


def takers(simulation: Simulation, name: str, *texts: str) -> list[str]:
    nodes = PoolNodes(simulation, pools_of(*texts).pools)
    answer = nodes.ask([asked(simulation, name)])[0]
    for kind, is_accepted, refusals in zip(nodes.kinds, answer.accepted, answer.refusals, strict=True):
        assert bool(is_accepted) is not bool(refusals), kind.name
    return [kind.name for kind, is_accepted in zip(nodes.kinds, answer.accepted, strict=True) if is_accepted]


def test_the_cluster_is_left_as_it_was() -> None:
    simulation = settled(node("n", "1"), pod("p", "3"), daemon_set())
    before = dict(simulation.cluster.nodes.slot_of), dict(simulation.cluster.pods)
    assert takers(simulation, "p", node_pool(), TYPES) == [
        "spot/m.2xlarge/a/spot",
        "spot/m.2xlarge/a/on-demand",
        "spot/m.2xlarge/b/on-demand",
    ]
    assert (dict(simulation.cluster.nodes.slot_of), dict(simulation.cluster.pods)) == before


def test_daemon_pods_take_room_where_they_would_run() -> None:
    by_label = daemon_set("labelled", "1", nodeSelector={"karpenter.sh/capacity-type": "spot"})
    simulation = settled(pod("p", "3"), by_label)
    assert takers(simulation, "p", node_pool(), TYPES)[:1] == ["spot/c.large/a/on-demand"]
    tainted = node_pool(taints=[SPOT_TAINT])
    nodes = PoolNodes(simulation, pools_of(tainted, TYPES).pools)
    assert {len(kind.daemons) for kind in nodes.kinds} == {0}
    nodes = PoolNodes(simulation, pools_of(node_pool(), TYPES).pools)
    assert [kind.room["cpu"] for kind in nodes.kinds[:3]] == [2900, 2900, 3900]


def test_startup_taints_are_gone_and_others_are_not() -> None:
    simulation = settled(pod("p"), pod("q", tolerations=[TOLERATION]))
    startup = json.loads(node_pool())
    startup["spec"]["template"]["spec"]["startupTaints"] = [SPOT_TAINT]
    assert len(takers(simulation, "p", json.dumps(startup), TYPES)) == 6
    tainted = node_pool(taints=[SPOT_TAINT])
    assert takers(simulation, "p", tainted, TYPES) == []
    assert len(takers(simulation, "q", tainted, TYPES)) == 6


def test_spread_is_asked_about_one_new_node_at_a_time() -> None:
    """Zone c would be a new domain, whose nodes would let no node of zone a pass if they were all there at once."""
    spread = [
        {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ]
    world = [
        in_zone("n-a", "a", "4"),
        running("w-1", "n-a", cpu="3", labels={"app": "web"}),
        pod("p", "3", labels={"app": "web"}, topologySpreadConstraints=spread),
    ]
    assert {name.split("/")[2] for name in takers(settled(*world), "p", node_pool(), TYPES)} == {"a", "b"}


# -- the oracle: the same node in the cluster -------------------------------------------------------------------------


def lands_on(kind: NodeKind, *world: Raw) -> bool:
    """Whether the last pod goes to a node of this kind when that is really in the cluster, with its DaemonSet pods."""
    simulation = settled(kind.template.node("new"), *world[:-1])
    simulation.api.create(KINDS.POD, world[-1], "default")
    simulation.settle()
    return asked(simulation, "p").spec.nodeName == "new"


def _world(seed: int) -> list[Raw]:
    """Return a cluster whose nodes are full, and a pod `p` with some of what the scheduler reads."""
    draw = random.Random(seed)
    fields: dict[str, Any] = {}
    if draw.random() < 0.5:
        fields["tolerations"] = [{**TOLERATION, "value": draw.choice(["900", "960"])}]
    if draw.random() < 0.3:
        fields["nodeSelector"] = {draw.choice([ZONE, "beta.kubernetes.io/arch"]): draw.choice(["a", "b", "amd64"])}
    web: Raw = {"labelSelector": {"matchLabels": {"tier": "web"}}}
    if draw.random() < 0.4:
        constraint: Raw = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **web}
        key = draw.choice([ZONE, "kubernetes.io/hostname"])
        more: Raw = draw.choice([{}, {"minDomains": 2}, {"nodeTaintsPolicy": "Honor"}])
        fields["topologySpreadConstraints"] = [{**constraint, "topologyKey": key, **more}]
    if draw.random() < 0.4:
        name = draw.choice(["podAffinity", "podAntiAffinity"])
        term = {"topologyKey": draw.choice([ZONE, "kubernetes.io/hostname"]), **web}
        fields["affinity"] = {name: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    selector = draw.choice([{}, {"nodeSelector": {"karpenter.sh/capacity-type": "spot"}}])
    return [
        in_zone("n-a", "a"),
        in_zone("n-b", "b"),
        running("w-1", "n-a", cpu="1", labels={"tier": draw.choice(["web", "db"])}),
        running("w-2", "n-b", cpu="1", labels={"tier": draw.choice(["web", "db"])}),
        daemon_set("agent", draw.choice(["100m", "2"]), draw.choice(["node", "web"]), **selector),
        pod("p", draw.choice(["2", "3", "13"]), labels={"tier": "web"}, **fields),
    ]


@pytest.mark.parametrize("seed", range(14))
def test_a_kind_takes_a_pod_exactly_if_a_real_node_of_it_does(seed: int) -> None:
    world = _world(seed)
    pools = pools_of(
        node_pool("spot", taints=[SPOT_TAINT]),
        node_pool("plain", [{"key": ZONE, "operator": "In", "values": ["a"]}]),
        TYPES,
    ).pools
    simulation = settled(*world)
    nodes = PoolNodes(simulation, pools)
    accepted = nodes.accepts(asked(simulation, "p"))
    for index in random.Random(seed).sample(range(len(nodes)), 4):
        kind = nodes.kinds[index]
        assert bool(accepted[index]) is lands_on(kind, *world), kind.name
