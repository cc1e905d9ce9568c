"""Scheme defaults, kind by kind: what is added, and what stays as the user wrote it."""

import copy

import pytest
from tests.unit.admit.objects import Raw, document, pod, stored, volume, workload

from moorage.admit.prepare.pod_defaults import default_container, default_pod, default_pod_spec, default_volume
from moorage.admit.registry import row_of
from moorage.model.kinds import kind_of

POD_SPEC = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
    "schedulerName": "default-scheduler",
}
CONTAINER: Raw = {
    "imagePullPolicy": "IfNotPresent",
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}


def test_pod_spec() -> None:
    spec: Raw = {}
    default_pod_spec(spec)
    assert spec == POD_SPEC
    given: Raw = dict.fromkeys(POD_SPEC, "mine")
    default_pod_spec(given)
    assert given == dict.fromkeys(POD_SPEC, "mine")


def test_pods_get_more_than_templates() -> None:
    made: Raw = {"spec": {"hostNetwork": True, "containers": [{"ports": [{"containerPort": 80}]}]}}
    made["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "0"}}
    spec = copy.deepcopy(made["spec"])
    default_pod_spec(spec)
    default_pod(made)
    assert made["spec"]["enableServiceLinks"] is True
    assert made["spec"]["containers"][0]["ports"] == [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "0", "memory": "1Gi"}
    assert "enableServiceLinks" not in spec
    assert spec["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "0"}


@pytest.mark.parametrize(
    ("names", "account"),
    [
        ({"serviceAccount": "a"}, "a"),
        ({"serviceAccountName": "b"}, "b"),
        ({"serviceAccount": "a", "serviceAccountName": "b"}, "b"),
    ],
)
def test_both_names_of_the_service_account(names: Raw, account: str) -> None:
    spec = dict(names)
    default_pod_spec(spec)
    assert (spec["serviceAccount"], spec["serviceAccountName"]) == (account, account)


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ({}, CONTAINER),
        ({"image": "nginx"}, {"image": "nginx", **CONTAINER, "imagePullPolicy": "Always"}),
        ({"imagePullPolicy": "Never"}, {**CONTAINER, "imagePullPolicy": "Never"}),
        ({"livenessProbe": {}}, {**CONTAINER, "livenessProbe": PROBE}),
        (
            {"startupProbe": {"httpGet": {"port": 1}, "periodSeconds": 5}},
            {
                **CONTAINER,
                "startupProbe": {**PROBE, "periodSeconds": 5, "httpGet": {"port": 1, "path": "/", "scheme": "HTTP"}},
            },
        ),
        (
            {"readinessProbe": {"grpc": {"port": 1}}},
            {**CONTAINER, "readinessProbe": {**PROBE, "grpc": {"port": 1, "service": ""}}},
        ),
        (
            {"lifecycle": {"preStop": {"httpGet": {"path": "x"}}, "postStart": None}},
            {
                **CONTAINER,
                "lifecycle": {"preStop": {"httpGet": {"path": "x", "scheme": "HTTP"}}, "postStart": None},
            },
        ),
        (
            {"env": [{"valueFrom": {"fieldRef": {}, "fileKeyRef": {}}}, {"value": "x"}]},
            {
                **CONTAINER,
                "env": [
                    {"valueFrom": {"fieldRef": {"apiVersion": "v1"}, "fileKeyRef": {"optional": False}}},
                    {"value": "x"},
                ],
            },
        ),
        (
            {"resources": {"limits": {"cpu": "0.0001", "memory": "1500n", "x": "-0.1m"}, "requests": {"cpu": 0.5}}},
            {
                **CONTAINER,
                "resources": {"limits": {"cpu": "1m", "memory": "1m", "x": "-1m"}, "requests": {"cpu": 0.5}},
            },
        ),
    ],
)
def test_containers(container: Raw, expected: Raw) -> None:
    made = copy.deepcopy(container)
    default_container(made)
    assert made == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({}, {"emptyDir": {}}),
        ({"secret": None}, {"secret": None, "emptyDir": {}}),
        ({"unheardOf": {}}, {"unheardOf": {}, "emptyDir": {}}),
        ({"hostPath": {"path": "/"}}, {"hostPath": {"path": "/", "type": ""}}),
        ({"secret": {}}, {"secret": {"defaultMode": 420}}),
        ({"configMap": {"defaultMode": 0}}, {"configMap": {"defaultMode": 0}}),
        (
            {"downwardAPI": {"items": [{"fieldRef": {}}, {}]}},
            {"downwardAPI": {"defaultMode": 420, "items": [{"fieldRef": {"apiVersion": "v1"}}, {}]}},
        ),
        (
            {"projected": {"sources": [{"serviceAccountToken": {}}, {"downwardAPI": {"items": [{"fieldRef": {}}]}}]}},
            {
                "projected": {
                    "defaultMode": 420,
                    "sources": [
                        {"serviceAccountToken": {"expirationSeconds": 3600}},
                        {"downwardAPI": {"items": [{"fieldRef": {"apiVersion": "v1"}}]}},
                    ],
                }
            },
        ),
        ({"image": {"reference": "a:1"}}, {"image": {"reference": "a:1", "pullPolicy": "IfNotPresent"}}),
        ({"iscsi": {}}, {"iscsi": {"iscsiInterface": "default"}}),
        ({"rbd": {"pool": "p"}}, {"rbd": {"pool": "p", "user": "admin", "keyring": "/etc/ceph/keyring"}}),
        ({"scaleIO": {}}, {"scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"}}),
        (
            {"azureDisk": {"readOnly": True}},
            {"azureDisk": {"readOnly": True, "cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared"}},
        ),
        (
            {"ephemeral": {"volumeClaimTemplate": {}}},
            {"ephemeral": {"volumeClaimTemplate": {"metadata": {}, "spec": {"volumeMode": "Filesystem"}}}},
        ),
    ],
)
def test_volumes(source: Raw, expected: Raw) -> None:
    made = {"name": "v", **copy.deepcopy(source)}
    default_volume(made)
    assert made == {"name": "v", **expected}


@pytest.mark.parametrize(
    ("resources", "containers", "expected"),
    [
        (None, [{}], None),
        ({"requests": {"cpu": "1"}}, [{}], {"requests": {"cpu": "1"}}),
        ({"limits": {"cpu": "1"}}, [{}], {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}),
        (
            {"limits": {"cpu": "4"}},
            [{"requests": {"cpu": "1", "memory": "1Gi", "x/y": "1"}}, {"requests": {"cpu": "500m"}}],
            {"limits": {"cpu": "4"}, "requests": {"cpu": "1500m", "memory": "1Gi"}},
        ),
        (
            {"limits": {"cpu": "4"}},
            [{"limits": {"hugepages-2Mi": "2Mi"}}, {"limits": {"hugepages-2Mi": "4Mi"}}],
            {
                "limits": {"cpu": "4", "hugepages-2Mi": "6Mi"},
                "requests": {"cpu": "4", "hugepages-2Mi": "6Mi"},
            },
        ),
    ],
)
def test_pod_level_resources(resources: Raw | None, containers: list[Raw], expected: Raw | None) -> None:
    made: Raw = {"spec": {"containers": [{"resources": one} for one in copy.deepcopy(containers)]}}
    if resources is not None:
        made["spec"]["resources"] = copy.deepcopy(resources)
    default_pod(made)
    assert made["spec"].get("resources") == expected


def test_sidecars_and_init_containers_count_for_the_hungriest_moment() -> None:
    def need(cpu: str, **fields: str) -> Raw:
        return {"resources": {"requests": {"cpu": cpu}}, **fields}

    made: Raw = {
        "spec": {
            "resources": {"limits": {"cpu": "9"}},
            "initContainers": [need("1", restartPolicy="Always"), need("5"), need("1", restartPolicy="Always")],
            "containers": [need("1")],
        }
    }
    default_pod(made)
    assert made["spec"]["resources"]["requests"] == {"cpu": "6"}


WORKLOADS: dict[str, Raw] = {
    "Deployment": {
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
    },
    "ReplicaSet": {"replicas": 1},
    "DaemonSet": {
        "revisionHistoryLimit": 10,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
    },
    "StatefulSet": {
        "serviceName": "",
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    },
    "Job": {
        "completions": 1,
        "parallelism": 1,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "backoffLimit": 6,
        "podReplacementPolicy": "TerminatingOrFailed",
    },
}


def default(made: Raw) -> None:
    kind = kind_of(made)
    assert kind is not None
    row_of(kind).default(made)


@pytest.mark.parametrize("kind", WORKLOADS)
def test_workloads(kind: str) -> None:
    made = document(kind)
    default(made)
    assert made["spec"].pop("template") == {"spec": POD_SPEC}
    assert made["spec"] == WORKLOADS[kind]


def test_other_strategies_get_no_parameters() -> None:
    for kind, field, other in (
        ("Deployment", "strategy", "Recreate"),
        ("DaemonSet", "updateStrategy", "OnDelete"),
        ("StatefulSet", "updateStrategy", "OnDelete"),
    ):
        made = document(kind, spec={field: {"type": other}})
        default(made)
        assert made["spec"][field] == {"type": other}


def test_jobs_by_circumstance() -> None:
    spec = {
        "parallelism": 3,
        "backoffLimitPerIndex": 1,
        "podFailurePolicy": {"rules": [{"onPodConditions": [{"type": "x"}]}]},
        "template": {"metadata": {"labels": {"a": "b"}}},
    }
    made = document("Job", spec=spec)
    default(made)
    assert made["metadata"]["labels"] == {"a": "b"}
    assert "completions" not in made["spec"]
    assert made["spec"]["backoffLimit"] == 2**31 - 1
    assert made["spec"]["podReplacementPolicy"] == "Failed"
    assert made["spec"]["podFailurePolicy"]["rules"][0]["onPodConditions"] == [{"type": "x", "status": "True"}]


def test_cron_jobs_leave_their_job_alone_but_for_the_pod() -> None:
    made = document("CronJob")
    default(made)
    assert made["spec"] == {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {"metadata": {}, "spec": {"template": {"metadata": {}, "spec": POD_SPEC}}},
    }


def test_claims_of_a_stateful_set() -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"metadata": {"name": "data"}, "spec": spec}
    made = stored(workload("StatefulSet", {"volumeClaimTemplates": [claim]}))
    found = made["spec"]["volumeClaimTemplates"][0]
    assert (found["apiVersion"], found["kind"]) == ("v1", "PersistentVolumeClaim")
    assert (found["status"], found["spec"]["volumeMode"]) == ({"phase": "Pending"}, "Filesystem")


def test_the_rest() -> None:
    made = stored(volume(hostPath={"path": "/d"}))
    assert made["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert made["spec"]["volumeMode"] == "Filesystem"
    assert made["spec"]["hostPath"] == {"path": "/d", "type": ""}
    made = stored(document("StorageClass", provisioner="a/b"))
    assert (made["reclaimPolicy"], made["volumeBindingMode"]) == ("Delete", "Immediate")
    assert stored(document("PriorityClass"))["preemptionPolicy"] == "PreemptLowerPriority"
    assert stored(document("Node"))["status"]["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 0}}  # as Go writes it


def test_what_moorage_does_not_know_survives() -> None:
    made = pod(tomorrow={"deep": [1]})
    made["metadata"]["fromTheFuture"] = True
    made["spec"]["containers"][0]["neverHeardOf"] = None
    answer = stored(made)
    assert answer["spec"]["tomorrow"] == {"deep": [1]}
    assert answer["metadata"]["fromTheFuture"] is True
    assert answer["spec"]["containers"][0]["neverHeardOf"] is None
