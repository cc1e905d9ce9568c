"""Kubernetes with the admission policies of attach only: no webhook, no controller."""

import json
import ssl
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.e2e.component_processes import until
from tests.interop.attached import everyday_use, races
from tests.interop.attached.drawn_pods import (
    EXPRESSIONS,
    THRESHOLDS,
    VALUES,
    VERSIONS,
    Pinned,
    drawn_pods,
    drawn_taints,
    wrong_placements,
)
from tests.interop.attached.unaware_cluster import (
    NODES,
    Kubernetes,
    Tenant,
    UnawareCluster,
    a_cluster,
    converted,
    mirror_of,
    needs_a_cluster,
    taint,
)
from tests.interop.cluster_user import ClusterUser
from tests.interop.real_server import RealServer

from moorage.attach.formats import MIRRORED
from moorage.attach.mirror import mirror_labels
from moorage.attach.objects import lowered
from moorage.attach.tolerations import compared_pairs

pytestmark = needs_a_cluster()

Raw = dict[str, Any]
FORGED = "num.noschedule.taint.moorage.dev/spot"
_PAIRS = 4  # that the policy can lower


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UnawareCluster]:
    with a_cluster(tmp_path_factory.mktemp("policies")) as started:
        started.install_policies("--lower")
        yield started
        started.remove_policies()


@pytest.fixture
def tenant(cluster: UnawareCluster) -> Iterator[Tenant]:
    with cluster.scenario(everyday_use.SPOT) as made:
        yield made


# -- the mirror --------------------------------------------------------------------------------------------------------


def test_every_write_mirrors_taints_and_versions(cluster: UnawareCluster) -> None:
    random = Random(1)
    with cluster.scenario():
        for _ in range(20):
            cluster.taint("node-1", *drawn_taints(random))
            cluster.admin(f"label node node-1 --overwrite example.com/driver={random.choice(VALUES)}")
            node = cluster.admin.get("node node-1")
            assert mirror_of(node) == mirror_labels(node)
        cluster.admin("label node node-1 example.com/driver-")
    assert cluster.mirror("node-1") == {MIRRORED: "v1"}


def test_forged_labels_are_repaired_in_the_write_that_forges_them(cluster: UnawareCluster) -> None:
    with cluster.scenario({"node-1": [taint("spot", "10")]}):
        true = cluster.mirror("node-1")
        patch = json.dumps({"metadata": {"labels": {FORGED: "9999", MIRRORED: None, "x.ver.label.moorage.dev/y": "5"}}})
        for subresource in ("", "--subresource=status"):
            cluster.admin(f"patch node node-1 {subresource} --type=merge --patch='{patch}'")
            assert cluster.mirror("node-1") == true
        pretended = {"spec": {"taints": [taint("spot", "9999")]}, "metadata": {"labels": {"pretends": "true"}}}
        cluster.admin(f"patch node node-1 --subresource=status --type=merge --patch='{json.dumps(pretended)}'")
        assert cluster.mirror("node-1") == true


def test_a_kubelet_cannot_forge_the_mirror_of_its_node(cluster: UnawareCluster) -> None:
    if not isinstance(cluster, Kubernetes):
        pytest.skip("nobody signs the certificate of a kubelet of a cluster that is given")
    access = cluster.server.user("system:node:node-1", "system:nodes")
    kubelet = ClusterUser(access, cluster.programs.directory / "home")
    with cluster.scenario({"node-1": [taint("spot", "10")]}):
        true = cluster.mirror("node-1")
        patch = json.dumps({"metadata": {"labels": {FORGED: "9999"}}})
        for path in ("", "/status"):
            patch_as_kubelets_do(cluster.server, access, f"/api/v1/nodes/node-1{path}", patch)
            assert cluster.mirror("node-1") == true
        assert "is not allowed to modify taints" in kubelet.fails("taint node node-1 spot-")
        answer = f"match.moorage.dev/{'0' * 20}"
        kubelet(f"label node node-1 {answer}=true")
        assert cluster.mirror("node-1") == true
        cluster.admin(f"label node node-1 {answer}=true")
        kubelet("label node node-1 its=own")
        assert cluster.mirror("node-1") == true | {answer: "true"}
        cluster.admin(f"label node node-1 {answer}- its-")


def patch_as_kubelets_do(server: RealServer, access: Path, path: str, patch: str) -> None:
    """Send a merge patch without reading the object before: kubelets may not read the status of a node by itself."""
    context = ssl.create_default_context(cafile=server.pki.ca)
    context.load_cert_chain(access.with_suffix(".crt"), access.with_suffix(".key"))
    request = urllib.request.Request(f"{server.url}{path}", patch.encode(), method="PATCH")
    request.add_header("Content-Type", "application/merge-patch+json")
    with urllib.request.urlopen(request, context=context) as answer:
        assert answer.status == 200


def test_a_key_too_long_to_mirror_does_not_stop_the_write(cluster: UnawareCluster) -> None:
    with cluster.scenario({"node-1": [taint(".".join(["a" * 62] * 4) + "/k", "1")]}):
        assert cluster.mirror("node-1") == {MIRRORED: "v1"}


# -- races -------------------------------------------------------------------------------------------------------------


def test_no_pod_lands_on_a_node_that_was_tainted_just_before(tenant: Tenant) -> None:
    races.no_pod_lands_on_a_node_that_was_tainted_just_before(tenant)


def test_no_waiting_pod_lands_on_a_fresh_node_that_is_not_good_enough(tenant: Tenant) -> None:
    races.no_waiting_pod_lands_on_a_fresh_node_that_is_not_good_enough(tenant)


def test_the_first_writes_after_a_restart_of_the_api_server_are_mirrored_and_lowered(cluster: UnawareCluster) -> None:
    cluster.restart()
    cluster.taint("node-1", taint("spot", "940"))
    node = cluster.admin.get("node node-1")
    assert mirror_of(node) == mirror_labels(node)
    assert cluster.lowers()
    cluster.taint("node-1")


def test_a_mirror_that_is_removed_freezes(cluster: UnawareCluster) -> None:
    """This is why uninstalling removes the mirror last."""
    with cluster.scenario({node: [taint("closed")] for node in NODES[1:]}) as tenant:
        cluster.admin("delete mutatingadmissionpolicybinding mirror.attach.moorage.dev")
        until(lambda: not cluster.mirrors(taint("probe", "1")))
        cluster.taint("node-1", taint("spot", "10"))
        tenant.create(*races.waiting_pods())
        assert set(tenant.placements().values()) == {"node-1"}
        cluster.install_policies("--lower")


# -- where drawn pods go -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [2, 8])
def test_drawn_pods_go_where_their_thresholds_say(cluster: UnawareCluster, seed: int) -> None:
    random = Random(seed)
    with cluster.scenario({node: drawn_taints(random, most=2) for node in NODES}) as tenant:
        pods = [each for each in drawn_pods(random, 300, THRESHOLDS) if policy_can_lower(each)][:200]
        assert len(pods) == 200
        assert wrong_placements(cluster, tenant, pods, [each.document for each in pods]) == []


def policy_can_lower(pinned: Pinned) -> bool:
    tolerations = pinned.document["spec"]["tolerations"]
    pairs = [pair for pair in compared_pairs(tolerations) if pair.effect != "PreferNoSchedule"]
    return len(pairs) <= _PAIRS and "match.moorage.dev/" not in str(lowered(pinned.document))


@pytest.mark.parametrize("seed", [2, 8])
def test_drawn_pods_go_where_their_converted_manifests_say(cluster: UnawareCluster, seed: int) -> None:
    random = Random(seed)
    with cluster.scenario({node: drawn_taints(random, most=2) for node in NODES}) as tenant:
        pods = drawn_pods(random, 200, THRESHOLDS | VERSIONS | EXPRESSIONS)
        sent = converted([each.document for each in pods])
        assert wrong_placements(cluster, tenant, pods, sent) == []


# -- everyday use ------------------------------------------------------------------------------------------------------


def test_all_kinds_are_applied_again_without_a_change(tenant: Tenant) -> None:
    everyday_use.all_kinds_are_applied_again_without_a_change(tenant)


def test_deployments_scale_roll_and_are_undone(tenant: Tenant) -> None:
    everyday_use.deployments_scale_roll_and_are_undone(tenant)


def test_daemons_run_on_the_nodes_that_are_accepted(tenant: Tenant) -> None:
    everyday_use.daemons_run_on_the_nodes_that_are_accepted(tenant)


def test_urgent_pods_preempt_where_their_value_is_accepted(tenant: Tenant) -> None:
    everyday_use.urgent_pods_preempt_where_their_value_is_accepted(tenant)
