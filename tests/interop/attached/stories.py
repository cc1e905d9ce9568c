"""The stories of KEP-5471, KEP-5721 and KEP-5500 on a cluster that knows none of them, with attach beside it.

Each function does what its name says as a tenant of such a cluster, and fails where something else comes of it. Nodes
have the taints of a story as soon as it begins.
"""

import json
from typing import Any

from tests.e2e.component_processes import until
from tests.interop.attached.unaware_cluster import NODES, Tenant, pod, taint
from tests.unit.attach.workloads import requirement, term, toleration

Raw = dict[str, Any]
SLA, CNI, KERNEL = "node.kubernetes.io/sla", "cni.example.com/version", "node.example.com/kernel-version"
#: What keeps all pods of these stories away.
CLOSED = [taint("closed")]
Taints = dict[str, list[Raw]]


def tainted(key: str, effect: str, *values: str) -> Taints:
    """Give the first nodes these values, and close the others."""
    nodes = dict.fromkeys(NODES, CLOSED)
    return nodes | {node: [taint(key, value, effect)] for node, value in zip(NODES, values, strict=False)}


def hard(operator: str, value: str, key: str = SLA) -> Raw:
    return toleration(operator, value, key, "NoSchedule")


def leaving(operator: str, value: str = "", key: str = SLA, seconds: int | None = None) -> Raw:
    return toleration(operator, value, key, "NoExecute", seconds)


# -- numbers: KEP-5471 -------------------------------------------------------------------------------------------------


def spot_nodes_are_for_those_who_ask(tenant: Tenant) -> None:
    """Also "at least 900", which takes two tolerations; who waits is told why, and lands when a node is better."""
    tenant.cluster.set_taints(tainted(SLA, "NoSchedule", "800", "900", "990"))
    tenant.create(
        pod(hard("Gt", "750"), name="cheap"),
        pod(hard("Equal", "900"), hard("Gt", "900"), name="flexible"),
        pod(hard("Gt", "950"), name="critical"),
        pod(hard("Lt", "850"), name="spot-only"),
        pod(hard("Gt", "990"), name="impossible"),
        pod(name="unaware"),
    )
    placed = tenant.placements()
    assert placed["cheap"] in NODES[:3]
    assert placed["flexible"] in NODES[1:3]
    assert (placed["critical"], placed["spot-only"]) == (NODES[2], NODES[0])
    assert (placed["impossible"], placed["unaware"]) == ("", "")
    assert tenant.told("impossible", "ComparisonsNotMet") == (
        f"needs {SLA} > 990; 3 nodes have no more (800 to 990); "
        "3 nodes meet this, and something else keeps the pod away"
    )
    tenant.cluster.taint(NODES[0], taint(SLA, "995"))
    until(lambda: tenant.placements()["impossible"] == NODES[0])


def a_service_level_that_drops_evicts_exactly_those_that_need_more(tenant: Tenant) -> None:
    """At once, after seconds, or never; the event has the inequality."""
    tenant.cluster.set_taints(tainted(SLA, "NoExecute", "990"))
    tenant.create(
        *(pod(leaving("Gt", str(least)), name=f"above-{least}") for least in (900, 949, 950, 980)),
        pod(leaving("Gt", "950", seconds=36000), name="patient"),
        pod(leaving("Gt", "950"), leaving("Equal", "950", seconds=2), name="two-seconds"),
        pod(leaving("Exists"), name="plain"),
    )
    assert set(tenant.placements().values()) == {NODES[0]}
    tenant.cluster.taint(NODES[0], taint(SLA, "950", "NoExecute"))
    stays = {"above-900", "above-949", "plain"}
    until(lambda: set(tenant.names("pods")) == stays)
    told = tenant.told("above-980", "TaintManagerEviction")
    assert told.startswith(f"Marking for deletion Pod {tenant.namespace}/above-980: ")
    assert "950 > 980 is false" in told


# -- versions: KEP-5721 ------------------------------------------------------------------------------------------------


def versions_decide_about_taints_and_labels(tenant: Tenant) -> None:
    """Also pre-releases, a `v` before, and two parts; a label that is absent or no version keeps a pod away."""
    cluster = tenant.cluster
    cluster.set_taints(tainted(CNI, "NoSchedule", "v3.26.0", "v3.27.2", "3.28.0-rc.1"))
    labels = {NODES[0]: "v1.31.9", NODES[1]: "1.33.0-alpha.1", NODES[2]: "unknown"}
    for node, version in labels.items():
        cluster.admin(f"label node {node} --overwrite story.example.com/kubelet={version}")
    everywhere = toleration("Exists", key=CNI, effect="NoSchedule")
    affinity = {name: [term(requirement("story.example.com/kubelet", *which))] for name, *which in _KUBELETS}
    tenant.create(
        pod(hard("SemverLt", "3.27", CNI), name="old"),
        pod(hard("SemverEq", "v3.27.2", CNI), name="same"),
        pod(hard("SemverGt", "3.27.9", CNI), name="newer-than-a-release"),
        pod(hard("SemverGt", "3.28.0-beta.1", CNI), name="newer-than-a-pre-release"),
        *(_with_affinity(pod(everywhere, name=name), required) for name, required in affinity.items()),
    )
    tenant.become_placed(_BY_VERSION)


_KUBELETS = (("new-kubelet", "SemverGt", "1.32"), ("old-kubelet", "SemverLt", "v1.32.0"))
_BY_VERSION = {
    "old": NODES[0],
    "same": NODES[1],
    "newer-than-a-release": NODES[2],
    "newer-than-a-pre-release": NODES[2],
    "new-kubelet": NODES[1],
    "old-kubelet": NODES[0],
}


def _with_affinity(document: Raw, terms: list[Raw]) -> Raw:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    document["spec"]["affinity"] = {"nodeAffinity": required}
    return document


def versions_decide_who_stays_when_a_node_is_upgraded(tenant: Tenant) -> None:
    tenant.cluster.set_taints(tainted(CNI, "NoExecute", "2.1.4"))
    tenant.create(
        pod(leaving("SemverGt", "2.0.0", CNI), name="new"),
        pod(leaving("SemverLt", "3.0.0", CNI), name="old"),
        pod(leaving("SemverEq", "v2.1.4", CNI), name="same"),
    )
    assert set(tenant.placements().values()) == {NODES[0]}
    tenant.cluster.taint(NODES[0], taint(CNI, "3.0.0", "NoExecute"))
    until(lambda: tenant.names("pods") == ["new"])


# -- expressions: KEP-5500 ---------------------------------------------------------------------------------------------


def expressions_decide_by_match_labels(tenant: Tenant) -> None:
    """The first pod of a question waits for its answer; a node that stops to match gets no pod at all any more."""
    cluster = tenant.cluster
    cluster.set_taints(tainted(KERNEL, "NoSchedule", "v5.14.9", "v5.15.0", "v6.8.0"))
    newer = "!semver(taint.value.substring(1)).isLessThan(semver('5.15.0'))"
    tenant.create(
        pod(hard("CEL", newer, KERNEL), name="first"),
        pod(hard("CEL", "taint.value.matches('^v7')", KERNEL), name="future"),
        pod(hard("CEL", "int(taint.value) > 5", KERNEL), name="fails"),
    )
    until(lambda: tenant.placements()["first"] in NODES[1:3])
    tenant.become_placed({"future": "", "fails": ""})
    cluster.set_taints({NODES[1]: CLOSED, NODES[2]: [taint(KERNEL, "v5.1.0")]})
    later = [pod(hard("CEL", newer, KERNEL), name=f"later-{number}") for number in range(10)]
    tenant.create(*later)
    assert {node for name, node in tenant.placements().items() if name.startswith("later-")} == {""}
    cluster.taint(NODES[2], taint(KERNEL, "v5.15.1"))
    tenant.become_placed({f"later-{number}": NODES[2] for number in range(10)})


def expressions_decide_who_stays(tenant: Tenant) -> None:
    tenant.cluster.set_taints(tainted(SLA, "NoExecute", "990"))
    tenant.create(
        pod(leaving("CEL", "int(taint.value) >= 950"), name="at-least"),
        pod(leaving("CEL", "int(taint.value) > 950"), name="more-than"),
    )
    until(lambda: set(tenant.placements().values()) == {NODES[0]})
    tenant.cluster.taint(NODES[0], taint(SLA, "950", "NoExecute"))
    until(lambda: tenant.names("pods") == ["at-least"])


# -- all of them -------------------------------------------------------------------------------------------------------


def a_soft_taint_makes_a_node_less_welcome(tenant: Tenant) -> None:
    soft = "PreferNoSchedule"
    tenant.cluster.set_taints(tainted("spot", soft, "10", "960"))
    tenant.create(*(pod(toleration("Gt", "950", effect=soft), name=f"p{number}") for number in range(6)))
    assert set(tenant.placements().values()) == {NODES[1]}


def what_cannot_work_is_refused_in_words_that_say_why(tenant: Tenant) -> None:
    """Those of an API server that knows the operators."""
    for given, words in (
        (hard("Gt", "abc", "spot"), 'spec.tolerations[0].value: Invalid value: "abc"'),
        (
            hard("SemverLt", "containerd://2", "spot"),
            'Invalid character(s) found in major number "0containerd://2"',
        ),
        (hard("CEL", "taint.color == 'red'", "spot"), "undefined field 'color'"),
        ({"operator": "CEL", "value": "true"}, "operator must be Exists when `key` is empty"),
    ):
        said = tenant.fails("create -f -", json.dumps(pod(given)))
        assert words in said, said
    tenant.create(pod(name="there"))
    added = {"spec": {"tolerations": [hard("Gt", "950", "spot")]}}
    said = tenant.fails(f"patch pod there --type=strategic --patch='{json.dumps(added)}'")
    assert "may not be added to a pod that exists: its node affinity would have to compare" in said
