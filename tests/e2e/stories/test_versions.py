"""Versions in tolerations and node affinity: the stories of KEP-5721, gate on."""

from tests.e2e.running_cluster import Cluster
from tests.e2e.stories.stage import NOT_HELPFUL, Raw, Stage, documents_of, node, pod

UP_OPTIONS = ("--feature-gates=TaintTolerationNodeAffinitySemverComparisonOperators=true",)
CNI, RUNTIME = "cni.projectcalico.org/version", "node.kubernetes.io/containerRuntimeVersion"
AFFINITY = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"


def affinity(operator: str, *values: str, key: str = "version", field: str = "matchExpressions") -> Raw:
    term = {field: [{"key": key, "operator": operator, "values": list(values)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def test_a_pod_waits_for_a_kubelet_that_is_new_enough(stage: Stage) -> None:
    old, new = "not-yet-upgraded", {"upgraded-1", "upgraded-2"}
    stage.nodes("kubelet-version-rollout")
    stage.play("kubelet-version-rollout", "modern-app.yaml")
    assert set(stage.lands("modern-app")) <= new
    stage.kubectl(f"delete pod/modern-app {' '.join(f'node/{name}' for name in new)} --now")
    stage.play("kubelet-version-rollout", "modern-app.yaml")
    assert stage.why_pending("modern-app") == (
        "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. " + NOT_HELPFUL.format(1)
    )
    stage.kubectl(f"label node {old} node.kubernetes.io/kubelet-version=v1.32.0 --overwrite")
    assert stage.lands("modern-app") == [old]


def test_old_cni_nodes_are_tolerated(stage: Stage) -> None:
    stage.nodes("cni-upgrade")
    stage.kubectl("cordon new-cni-node-1")
    stage.play("cni-upgrade", "tolerant-pod.yaml")
    stage.create(pod("intolerant"))
    tolerant, pinned = stage.lands("tolerant-pod", "pinned-pod")
    assert tolerant in {"old-cni-node-1", "ancient-cni-node-1"}
    assert pinned == "old-cni-node-1"
    assert stage.why_pending("intolerant") == (
        f"0/3 nodes are available: 1 node(s) had untolerated taint {{{CNI}: v3.26.0}}, "
        f"1 node(s) had untolerated taint {{{CNI}: v3.27.2}}, 1 node(s) were unschedulable. " + NOT_HELPFUL.format(3)
    )


def test_user_namespaces_need_a_new_container_runtime(stage: Stage) -> None:
    stage.nodes("container-runtime")
    pods = stage.play("container-runtime", "user-namespaces.yaml", replicas=2)
    assert set(stage.lands(*pods)) == {"containerd-2-1"}
    assert stage.read(f"pod {pods[0]}", "{.spec.hostUsers}") == "false"


def test_a_volume_that_needs_a_new_kernel(stage: Stage) -> None:
    folder = "pv-by-kernel-version"
    stage.nodes(folder)
    stage.create(*documents_of(folder, "storage.yaml"))
    play_volume_controller(stage, "advanced-storage-pv", "database-files")
    stage.kubectl("cordon kernel-6-1")
    stage.play(folder, "database.yaml")
    assert stage.why_pending("database") == (
        "0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, "
        "1 node(s) were unschedulable. " + NOT_HELPFUL.format(2)
    )
    stage.kubectl("uncordon kernel-6-1")
    assert stage.lands("database") == ["kernel-6-1"]


def test_a_volume_is_chosen_with_the_node_that_can_mount_it(stage: Stage) -> None:
    folder, bound = "pv-by-kernel-version", "jsonpath={.status.phase}=Bound"
    stage.nodes(folder)
    storage_class, volume, claim = documents_of(folder, "storage.yaml")
    volume["metadata"]["name"] = "chosen-pv"
    stage.create(storage_class, volume, claim)
    stage.play(folder, "database.yaml")
    assert stage.lands("database") == ["kernel-6-1"]
    stage.kubectl(f"wait --for={bound} pv/chosen-pv pvc/database-files --timeout=120s")
    assert stage.read("pvc database-files", "{.spec.volumeName}") == "chosen-pv"
    assert stage.read("pv chosen-pv", "{.spec.claimRef.name}") == "database-files"


def play_volume_controller(stage: Stage, volume: str, claim: str) -> None:
    """Binds a claim to a volume by hand, before there is a pod to wait for."""
    annotation = (
        '{"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": "%s"}}'
    )
    stage.kubectl(f"patch pvc {claim} --type=merge -p '{annotation % volume}'")
    uid = stage.read(f"pvc {claim}", "{.metadata.uid}")
    reference = f'{{"name": "{claim}", "namespace": "{stage.kubectl.namespace}", "uid": "{uid}"}}'
    stage.kubectl(f'patch pv {volume} --type=merge -p \'{{"spec": {{"claimRef": {reference}}}}}\'')
    bound = '{"status": {"phase": "Bound"}}'
    stage.kubectl(f"patch pvc {claim} --subresource=status --type=merge -p '{bound}'")
    stage.kubectl(f"patch pv {volume} --subresource=status --type=merge -p '{bound}'")


def test_a_taint_that_is_no_version_never_matches(stage: Stage, cluster: Cluster) -> None:
    # The document's containerd://2.1.4 could not even be a taint's value: those follow the rules for labels.
    said = stage.refused(node("odd", f"{RUNTIME}=containerd://2.1.4:NoSchedule"))
    assert said.startswith('The Node "odd" is invalid: metadata.taints[0].value: Invalid value: "containerd://2.1.4": ')
    stage.create(node("odd", f"{RUNTIME}=containerd-2.1.4:NoSchedule"))
    stage.create(pod("one", {"key": RUNTIME, "operator": "SemverLt", "value": "2.2.0"}))
    assert stage.why_pending("one") == (
        f"0/1 nodes are available: 1 node(s) had untolerated taint {{{RUNTIME}: containerd-2.1.4}} "
        f"({{{RUNTIME}: containerd-2.1.4}} is not a semantic version). " + NOT_HELPFUL.format(1)
    )
    errors = [line for line in (cluster.home / "moorage.log").read_text().splitlines() if line.startswith("E")]
    assert any(
        "failed to parse taint value as semantic version" in line and "containerd-2.1.4" in line for line in errors
    )
    stage.create(node("proper", f"{RUNTIME}=2.1.4:NoSchedule"))
    assert stage.lands("one") == ["proper"]


def test_a_label_that_is_no_version_never_matches(stage: Stage) -> None:
    stage.create(node("odd", version="1.2.x"), node("even", version="v1.2.3"))
    stage.create(pod("newer", affinity=affinity("SemverGt", "1.2")), pod("older", affinity=affinity("SemverLt", "1.2")))
    preferred = {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 100,
                    "preference": {"matchExpressions": [{"key": "version", "operator": "SemverGt", "values": ["0.1"]}]},
                }
            ]
        }
    }
    stage.create(pod("prefers", affinity=preferred))
    assert stage.lands("newer", "prefers") == ["even", "even"]
    mismatch = "1 node(s) didn't match Pod's node affinity/selector"
    why = f"{mismatch}, {mismatch} ({{version: 1.2.x}} is not a semantic version)."
    assert why in stage.why_pending("older")
    stage.kubectl("cordon even")
    stage.create(pod("makes-do", affinity=preferred))
    assert stage.lands("makes-do") == ["odd"]


def test_a_soft_taint_only_makes_a_node_less_welcome(stage: Stage) -> None:
    stage.create(node("a", "version=v1.0.0:PreferNoSchedule"), node("b", "version=v2.0.0:PreferNoSchedule"))
    stage.create(*[pod(f"one-{n}", {"key": "version", "operator": "SemverGt", "value": "v1.5.0"}) for n in range(3)])
    assert set(stage.lands("one-0", "one-1", "one-2")) == {"b"}


def test_values_that_are_no_versions_are_refused(stage: Stage) -> None:
    toleration = {"key": RUNTIME, "operator": "SemverLt", "value": "containerd://2.1.4"}
    assert stage.refused(pod("example", toleration)) == (
        'The Pod "example" is invalid: spec.tolerations[0].value: Invalid value: "containerd://2.1.4": '
        'Invalid character(s) found in major number "0containerd://2"'
    )
    assert stage.refused(pod("example", affinity=affinity("SemverGt", "v1.2.x"))) == (
        f'The Pod "example" is invalid: {AFFINITY}.matchExpressions[0].values: Invalid value: ["v1.2.x"]: '
        'Invalid character(s) found in patch number "x"'
    )
    single = "must be specified single value when `operator` is 'SemverLt' or 'SemverGt' or 'SemverEq'"
    for values in ((), ("1.2.3", "1.2.4")):
        assert stage.refused(pod("example", affinity=affinity("SemverEq", *values))) == (
            f'The Pod "example" is invalid: {AFFINITY}.matchExpressions[0].values: Required value: {single}'
        )
    by_field = affinity("SemverEq", "1.2.3", key="metadata.name", field="matchFields")
    assert stage.refused(pod("example", affinity=by_field)) == (
        f'The Pod "example" is invalid: {AFFINITY}.matchFields[0].operator: Invalid value: "SemverEq": '
        "not a valid selector operator"
    )
    volume = documents_of("pv-by-kernel-version", "storage.yaml")[1]
    volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0]["values"] = ["5", "6"]
    assert stage.refused(volume) == (
        'The PersistentVolume "advanced-storage-pv" is invalid: '
        f"spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values: Required value: {single}"
    )
