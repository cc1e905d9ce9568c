"""The one call: what it answers, what it leaves alone, what it completes."""

import copy

import pytest
from tests.unit.admit.objects import (
    Raw,
    certificate_request,
    complaints,
    custom_resource_definition,
    document,
    pod,
    rejected,
    stored,
    volume,
    workload,
)
from tests.unit.admit.stored_objects import STORED

from moorage.admit.admission import Admitted, Rejected, admit
from moorage.admit.request import Request
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS

GATES = default_gates()
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
DEVICES: Raw = {
    "devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", "tolerations": [{"key": "k"}]}}]}
}
ROLES = ("Role", "ClusterRole")
SUBJECT = {"kind": "User", "name": "jane"}
VALID: dict[str, Raw] = {
    "Pod": pod(),
    **{kind: workload(kind) for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob")},
    "ReplicationController": document(
        "ReplicationController", spec={"template": workload("ReplicaSet")["spec"]["template"]}
    ),
    "Endpoints": document("Endpoints", subsets=[{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]),
    "EndpointSlice": document(
        "EndpointSlice", addressType="IPv4", endpoints=[{"addresses": ["10.0.0.1"]}], ports=[{"port": 80}]
    ),
    **STORED,
    "Node": document("Node"),
    "PersistentVolume": volume(),
    "PersistentVolumeClaim": document("PersistentVolumeClaim", spec=CLAIM),
    "StorageClass": document("StorageClass", provisioner="example.com/disk"),
    "Namespace": document("Namespace"),
    "CustomResourceDefinition": custom_resource_definition(),
    "PriorityClass": document("PriorityClass", value=5),
    "LimitRange": document("LimitRange", spec={"limits": [{"type": "Container", "max": {"cpu": "1"}}]}),
    "ResourceQuota": document("ResourceQuota", spec={"hard": {"pods": "3", "count/jobs.batch": "2"}}),
    "RuntimeClass": document("RuntimeClass", handler="kata", overhead={"podFixed": {"cpu": "250m"}}),
    "PodDisruptionBudget": document("PodDisruptionBudget", spec={"minAvailable": 1}),
    "ConfigMap": document("ConfigMap", data={"a": "b"}),
    "Secret": document("Secret", stringData={"a": "b"}),
    "Service": document("Service", spec={"ports": [{"port": 80}]}),
    "ServiceAccount": document("ServiceAccount", secrets=[{"name": "s"}]),
    "Event": document("Event", reason="Made"),
    "Lease": document("Lease", spec={"holderIdentity": "me"}),
    "ControllerRevision": document("ControllerRevision", data={"spec": {}}, revision=1),
    **{kind: document(kind, rules=[{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]) for kind in ROLES},
    **{
        f"{kind}Binding": document(f"{kind}Binding", roleRef={"kind": kind, "name": "r"}, subjects=[SUBJECT])
        for kind in ROLES
    },
    "CertificateSigningRequest": document(
        "CertificateSigningRequest",
        spec={"request": certificate_request(), "signerName": "example.com/s", "usages": ["any"]},
    ),
    "CSIDriver": document("CSIDriver"),
    "CSINode": document("CSINode", spec={"drivers": [{"name": "d", "nodeID": "n"}]}),
    "CSIStorageCapacity": document("CSIStorageCapacity", storageClassName="fast"),
    "VolumeAttachment": document(
        "VolumeAttachment", spec={"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    ),
    "DeviceClass": document("DeviceClass", spec={"selectors": [{"cel": {"expression": "true"}}]}),
    "DeviceTaintRule": document("DeviceTaintRule", spec={"taint": {"key": "k", "effect": "NoSchedule"}}),
    "ResourceClaim": document("ResourceClaim", spec=DEVICES),
    "ResourceClaimTemplate": document("ResourceClaimTemplate", spec={"spec": DEVICES}),
    "ResourceSlice": document(
        "ResourceSlice",
        spec={
            "driver": "d.example.com",
            "pool": {"name": "p", "resourceSliceCount": 1},
            "nodeName": "n",
            "devices": [{"name": "a", "taints": [{"key": "k", "effect": "NoExecute"}]}],
        },
    ),
}


def test_every_known_kind_has_a_valid_example() -> None:
    assert {kind for _, kind in KINDS} == set(VALID)


@pytest.mark.parametrize("kind", VALID)
def test_admission_changes_nothing_it_was_given_and_stands_by_its_answer(kind: str) -> None:
    given = VALID[kind]
    before = copy.deepcopy(given)
    old = stored(given)
    assert given == before
    again = admit(old, old, GATES)
    assert isinstance(again, Admitted)
    assert again.object == old


def test_unknown_kinds_pass_as_they_are() -> None:
    made = {"apiVersion": "example.com/v1", "kind": "Boat", "spec": {"length": [1, None]}}
    answer = admit(made, None, GATES)
    assert isinstance(answer, Admitted)
    assert answer.object == made
    assert answer.object is not made
    assert answer.view is None


def test_fields_of_the_wrong_type_are_a_bad_request() -> None:
    made = pod(tolerations={"key": "a"}, hostNetwork="yes")
    answer = rejected(made)
    assert [problem.path for problem in answer.problems] == ["spec.tolerations", "spec.hostNetwork"]
    status = answer.status
    assert (status["code"], status["reason"]) == (400, "BadRequest")
    assert status["message"].startswith('Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal object')
    assert isinstance(admit(pod(), made, GATES), Rejected)


def test_nulls_are_what_go_makes_of_them() -> None:
    made = pod(tolerations=None, volumes=[None], nodeSelector={"a": None})
    made["spec"]["containers"] += [None]
    made["spec"]["containers"][0]["resources"] = {"limits": {"cpu": None}}
    assert complaints(made) == [
        "spec.volumes[0].name: Required value",
        "spec.containers[1].name: Required value",
        "spec.containers[1].image: Required value",
    ]


def test_a_rejection_carries_the_object_as_far_as_it_came() -> None:
    answer = rejected(pod(tolerations=[{"key": "a", "operator": "Odd"}]))
    assert answer.object is not None
    assert answer.object["spec"]["dnsPolicy"] == "ClusterFirst"
    assert answer.view is not None
    assert answer.name == "p"


REQUEST = Request(namespace="team-a", name_suffix="x7k2p", uid="u-1", timestamp="2026-01-02T03:04:05Z")


def test_the_request_completes_metadata() -> None:
    made = pod()
    made["metadata"] = {"generateName": "web-", "resourceVersion": "5", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    answer = admit(made, None, GATES, request=REQUEST)
    assert isinstance(answer, Admitted)
    assert answer.object["metadata"] == {
        "generateName": "web-",
        "name": "web-x7k2p",
        "namespace": "team-a",
        "uid": "u-1",
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "generation": 1,
    }


def test_what_is_empty_is_not_there() -> None:
    empty: Raw = {"labels": {}, "annotations": None, "finalizers": [], "ownerReferences": []}
    made = pod()
    made["metadata"] = {"name": "p", **empty}
    answer = admit(made, None, GATES)
    assert isinstance(answer, Admitted)
    assert not empty.keys() & answer.object["metadata"].keys()
    old = {**answer.object, "metadata": {**answer.object["metadata"], "finalizers": ["a.b/c"], "resourceVersion": "1"}}
    answer = admit({**old, "metadata": {**old["metadata"], **empty}}, old, GATES)
    assert isinstance(answer, Admitted)
    assert not empty.keys() & answer.object["metadata"].keys()


@pytest.mark.parametrize(
    ("kind", "counts"),
    [
        ("Deployment", ()),
        ("ReplicaSet", ("replicas",)),
        ("StatefulSet", ("replicas", "availableReplicas")),
        ("DaemonSet", ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")),
    ],
)
def test_a_workload_has_a_status_before_its_controller_has_seen_it(kind: str, counts: tuple[str, ...]) -> None:
    answer = admit({**workload(kind), "status": {"replicas": 7}}, None, GATES)
    assert isinstance(answer, Admitted)
    assert answer.object["status"] == dict.fromkeys(counts, 0)


def test_without_a_request_metadata_must_be_complete() -> None:
    made = pod()
    made["metadata"] = {"generateName": "web-"}
    answer = admit(made, None, GATES, request=None)
    assert isinstance(answer, Rejected)
    assert [str(error) for error in answer.errors] == [
        "metadata.name: Required value: name or generateName is required",
        "metadata.namespace: Required value",
    ]


def test_kinds_without_namespaces_get_none() -> None:
    answer = admit(document("Node"), None, GATES, request=REQUEST)
    assert isinstance(answer, Admitted)
    assert "namespace" not in answer.object["metadata"]


def test_an_update_keeps_what_it_leaves_out() -> None:
    old = stored(pod())
    old["metadata"] |= {"creationTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5}
    new = copy.deepcopy(old)
    for name in ("uid", "resourceVersion", "creationTimestamp", "deletionGracePeriodSeconds"):
        del new["metadata"][name]
    new["metadata"]["generation"] = 99
    answer = admit(new, old, GATES)
    assert isinstance(answer, Admitted)
    assert answer.object["metadata"] == old["metadata"]


def test_old_objects_get_todays_defaults_before_they_are_compared() -> None:
    old = stored(pod())
    old_without = copy.deepcopy(old)
    del old_without["spec"]["enableServiceLinks"]
    assert complaints(old, old_without) == []


WARNED = {
    "nodeSelector": {"beta.kubernetes.io/os": "linux"},
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "failure-domain.beta.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
        }
    ],
    "affinity": {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["-"]}]}}
            ],
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "node-role.kubernetes.io/master", "operator": "Exists"}]}
                ]
            },
        },
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]},
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}
            ]
        },
    },
}
WARNING_STARTS = [
    'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]"
    '.key: node-role.kubernetes.io/master is use "node-role.kubernetes.io/control-plane" instead',
    "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0]"
    ".values[0]: - is invalid, a valid label must be",
    "spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17",
    "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
    "metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+",
    'spec.containers[0].resources.limits[memory]: fractional byte value "1500m" is invalid, must be an integer',
    "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null",
    "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: a",
]


def _warned_spec() -> Raw:
    container = {"name": "c", "image": "i", "resources": {"limits": {"memory": "1500m"}}}
    return {"containers": [container], **copy.deepcopy(WARNED)}


def test_warnings_about_a_template_have_its_path_and_come_again_when_it_changes() -> None:
    made = workload("Deployment", **_warned_spec())
    made["spec"]["template"]["metadata"]["annotations"] = {"scheduler.alpha.kubernetes.io/critical-pod": ""}
    made["metadata"]["name"] = "a.b"
    answer = admit(made, None, GATES)
    assert isinstance(answer, Admitted)
    name, *warnings = answer.warnings
    assert name == (
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label "
        "is recommended: [must not contain dots]"
    )
    starts = [f"spec.template.{start}" for start in WARNING_STARTS]
    assert [warning[: len(start)] for warning, start in zip(warnings, starts, strict=True)] == starts

    old = stored(made)
    assert admit(old, old, GATES).warnings == ()
    new = copy.deepcopy(old)
    new["spec"]["template"]["metadata"]["labels"]["x"] = "y"
    assert admit(new, old, GATES).warnings == tuple(warnings)


def test_warnings_about_pods_come_when_they_are_created() -> None:
    made = pod(nodeSelector={"beta.kubernetes.io/os": "linux"})
    assert admit(made, None, GATES).warnings == (WARNING_STARTS[0],)
    old = stored(made)
    assert admit(old, old, GATES).warnings == ()
    negative = workload("Deployment", terminationGracePeriodSeconds=-1)
    assert admit(negative, None, GATES).warnings == (
        "spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be "
        "treated as 1",
    )
    assert stored(pod(terminationGracePeriodSeconds=-1))["spec"]["terminationGracePeriodSeconds"] == 1


def test_privileged_containers_are_the_servers_choice() -> None:
    made = pod()
    made["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    assert complaints(made) == []
    answer = admit(made, None, GATES, request=Request(allow_privileged=False))
    assert isinstance(answer, Rejected)
    assert [str(error) for error in answer.errors] == [
        "spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy"
    ]


def test_an_update_of_another_kind_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="a Pod cannot be an update of v1 Node"):
        admit(pod(), document("Node"), GATES)


def test_the_largest_generation_has_none_after_it() -> None:
    largest = 2**63 - 1
    driver = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "spec": {}}
    old = admit({**driver, "metadata": {"name": "d", "generation": largest}}, None, GATES)
    assert isinstance(old, Admitted)
    metadata = {**old.object["metadata"], "resourceVersion": "1"}
    changed = {**old.object, "metadata": metadata, "spec": {**old.object["spec"], "storageCapacity": True}}
    new = admit(changed, {**old.object, "metadata": metadata}, GATES)
    assert isinstance(new, Admitted)
    assert new.object["metadata"]["generation"] == largest
