"""The cells of every kind but pods."""

from typing import Any

import pytest

from moorage.model.kinds import KINDS
from moorage.serve.tables.render import render_table, table_of

Raw = dict[str, Any]
NOW = 100_000.0
CREATED = "1970-01-02T03:41:40Z"  # five minutes ago
TEMPLATE = {"spec": {"containers": [{"name": "a", "image": "x:1"}, {"name": "b", "image": "y"}]}}
SELECTOR = {
    "matchLabels": {"b": "2", "a": "1"},
    "matchExpressions": [{"key": "c", "operator": "In", "values": ["z", "y"]}],
}
SELECTED = "a=1,b=2,c in (y,z)"


def raw(*, metadata: Raw | None = None, **members: Any) -> Raw:
    return {"metadata": {"name": "it", "creationTimestamp": CREATED, **(metadata or {})}, **members}


def cells(api_version: str, kind: str, document: Raw) -> list[Any]:
    facts = KINDS[api_version, kind]
    found: list[Any] = render_table(facts, [document], NOW)["rows"][0]["cells"]
    assert len(found) == len(table_of(facts).columns)
    return found


def ready(status: str) -> Raw:
    return {"conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": status}]}


@pytest.mark.parametrize(
    ("node", "status"),
    [
        (raw(), "Unknown"),
        (raw(status=ready("True")), "Ready"),
        (raw(status=ready("Unknown")), "NotReady"),
        (raw(status=ready("True"), spec={"unschedulable": True}), "Ready,SchedulingDisabled"),
    ],
)
def test_node_status(node: Raw, status: str) -> None:
    assert cells("v1", "Node", node)[1] == status


def test_nodes() -> None:
    labels = {
        "node-role.kubernetes.io/worker": "",
        "node-role.kubernetes.io/": "",
        "kubernetes.io/role": "edge",
        "node-role.kubernetes.io/control-plane": "",
    }
    info = {
        "kubeletVersion": "v1.36.4",
        "osImage": "Debian",
        "kernelVersion": "6.1",
        "architecture": "arm64",
        "containerRuntimeVersion": "none://",
    }
    addresses = [{"type": "Hostname", "address": "h"}, {"type": "InternalIP", "address": "10.0.0.1"}]
    found = cells("v1", "Node", raw(metadata={"labels": labels}, status={"nodeInfo": info, "addresses": addresses}))
    assert found[2:5] == ["control-plane,edge,worker", "5m", "v1.36.4"]
    assert found[5:] == ["10.0.0.1", "<none>", "Debian", "6.1 (arm64)", "none://"]
    assert cells("v1", "Node", raw())[2:] == ["<none>", "5m", "", *["<none>"] * 2, *["<unknown>"] * 3]


def test_workloads() -> None:
    spec = {"replicas": 3, "selector": SELECTOR, "template": TEMPLATE}
    status = {"replicas": 3, "readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2}
    wide = ["a,b", "x:1,y", SELECTED]
    assert cells("apps/v1", "Deployment", raw(spec=spec, status=status)) == ["it", "2/3", 1, 2, "5m", *wide]
    assert cells("apps/v1", "ReplicaSet", raw(spec=spec, status=status)) == ["it", 3, 3, 2, "5m", *wide]
    assert cells("apps/v1", "StatefulSet", raw(spec=spec, status=status)) == ["it", "2/3", "5m", *wide[:2]]
    assert cells("apps/v1", "Deployment", raw()) == ["it", "0/1", 0, 0, "5m", "", "", ""]
    assert cells("apps/v1", "ReplicaSet", raw()) == ["it", 1, 0, 0, "5m", "", "", "<none>"]


def test_an_invalid_selector_is_shown_as_invalid_or_error() -> None:
    spec = {"selector": {"matchExpressions": [{"key": "c", "operator": "Near"}]}}
    assert cells("apps/v1", "Deployment", raw(spec=spec))[-1] == "<invalid>"
    assert cells("apps/v1", "ReplicaSet", raw(spec=spec))[-1] == "<error>"


def test_daemon_sets() -> None:
    template = {"spec": {**TEMPLATE["spec"], "nodeSelector": {"z": "1", "disk": "ssd"}}}
    status = {
        "desiredNumberScheduled": 5,
        "currentNumberScheduled": 4,
        "numberReady": 3,
        "updatedNumberScheduled": 2,
        "numberAvailable": 1,
    }
    found = cells("apps/v1", "DaemonSet", raw(spec={"template": template, "selector": SELECTOR}, status=status))
    assert found == ["it", 5, 4, 3, 2, 1, "disk=ssd,z=1", "5m", "a,b", "x:1,y", SELECTED]
    assert cells("apps/v1", "DaemonSet", raw())[6] == "<none>"


def test_controller_revisions() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "controller": True}
    found = cells("apps/v1", "ControllerRevision", raw(metadata={"ownerReferences": [owner]}, revision=2))
    assert found == ["it", "daemonset.apps/agent", 2, "5m"]
    assert cells("apps/v1", "ControllerRevision", raw())[1:3] == ["<none>", 0]


@pytest.mark.parametrize(
    ("spec", "status", "metadata", "shown"),
    [
        ({"completions": 3}, {"succeeded": 1}, {}, ["Running", "1/3", ""]),
        ({}, {}, {}, ["Running", "0/1", ""]),
        ({"parallelism": 4}, {"startTime": CREATED}, {}, ["Running", "0/1 of 4", "5m"]),
        (
            {"completions": 1},
            {
                "succeeded": 1,
                "startTime": CREATED,
                "completionTime": "1970-01-02T03:42:10Z",
                "conditions": [{"type": "Complete", "status": "True"}],
            },
            {},
            ["Complete", "1/1", "30s"],
        ),
        (
            {},
            {"conditions": [{"type": "Failed", "status": "True"}]},
            {"deletionTimestamp": CREATED},
            ["Failed", "0/1", ""],
        ),
        ({}, {"conditions": [{"type": "Complete", "status": "False"}]}, {}, ["Running", "0/1", ""]),
        ({}, {}, {"deletionTimestamp": CREATED}, ["Terminating", "0/1", ""]),
        ({}, {"conditions": [{"type": "Suspended", "status": "True"}]}, {}, ["Suspended", "0/1", ""]),
        ({}, {"conditions": [{"type": "FailureTarget", "status": "True"}]}, {}, ["FailureTarget", "0/1", ""]),
        ({}, {"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]}, {}, ["SuccessCriteriaMet", "0/1", ""]),
    ],
)
def test_jobs(spec: Raw, status: Raw, metadata: Raw, shown: list[str]) -> None:
    assert cells("batch/v1", "Job", raw(spec=spec, status=status, metadata=metadata))[1:4] == shown


def test_cron_jobs() -> None:
    spec = {
        "schedule": "* * * * *",
        "timeZone": "Etc/UTC",
        "suspend": False,
        "jobTemplate": {"spec": {"template": TEMPLATE}},
    }
    status = {"active": [{}, {}], "lastScheduleTime": CREATED}
    found = cells("batch/v1", "CronJob", raw(spec=spec, status=status))
    assert found == ["it", "* * * * *", "Etc/UTC", "False", 2, "5m", "5m", "a,b", "x:1,y", "<none>"]
    assert cells("batch/v1", "CronJob", raw())[2:6] == ["<none>", "<unset>", 0, "<none>"]


def test_volumes() -> None:
    spec = {
        "capacity": {"storage": "2048Mi"},
        "accessModes": ["ReadOnlyMany", "ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany"],
        "persistentVolumeReclaimPolicy": "Retain",
        "claimRef": {"namespace": "ns", "name": "data"},
        "storageClassName": "fast",
        "volumeMode": "Block",
    }
    found = cells("v1", "PersistentVolume", raw(spec=spec, status={"phase": "Bound"}))
    assert found[1:8] == ["2Gi", "RWO,ROX,RWX,RWOP", "Retain", "Bound", "ns/data", "fast", "<unset>"]
    assert found[8:] == ["", "5m", "Block"]
    gone = raw(
        metadata={"deletionTimestamp": CREATED, "annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}
    )
    assert cells("v1", "PersistentVolume", gone)[4:7] == ["Terminating", "", "old"]


def test_claims() -> None:
    status = {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    spec: Raw = {"volumeName": "pv1", "storageClassName": "fast", "volumeMode": "Filesystem"}
    found = cells("v1", "PersistentVolumeClaim", raw(spec=spec, status=status))
    assert found == ["it", "Bound", "pv1", "1Gi", "RWO", "fast", "<unset>", "5m", "Filesystem"]
    unbound = cells(
        "v1", "PersistentVolumeClaim", raw(spec={}, status={"phase": "Pending", "capacity": {"storage": "1"}})
    )
    assert unbound == ["it", "Pending", "", "", "", "", "<unset>", "5m", "<unset>"]


def test_storage_classes_and_drivers() -> None:
    default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    found = cells("storage.k8s.io/v1", "StorageClass", raw(metadata=default, provisioner="p"))
    assert found == ["it (default)", "p", "Delete", "Immediate", False, "5m"]
    assert cells("storage.k8s.io/v1", "CSINode", raw(spec={"drivers": [{}, {}]})) == ["it", 2, "5m"]
    driver = {
        "tokenRequests": [{"audience": "x"}, {"audience": "y"}],
        "volumeLifecycleModes": ["Persistent", "Ephemeral"],
    }
    found = cells("storage.k8s.io/v1", "CSIDriver", raw(spec=driver))
    assert found == ["it", True, False, False, "x,y", False, "Persistent,Ephemeral", "5m"]
    assert cells("storage.k8s.io/v1", "CSIDriver", raw(spec={"attachRequired": False}))[1:] == [
        *[False] * 3,
        "<unset>",
        False,
        "<none>",
        "5m",
    ]
    capacity = raw(storageClassName="fast", capacity="1024Ki")
    assert cells("storage.k8s.io/v1", "CSIStorageCapacity", capacity) == ["it", raw()["metadata"]["creationTimestamp"]]
    spec = {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "pv"}}
    found = cells("storage.k8s.io/v1", "VolumeAttachment", raw(spec=spec, status={"attached": True}))
    assert found == ["it", "d", "pv", "n", True, "5m"]


@pytest.mark.parametrize(
    ("api_version", "event"),
    [
        (
            "v1",
            {
                "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec"},
                "message": "  hello\n",
                "source": {"component": "kubelet", "host": "n1"},
                "firstTimestamp": "1970-01-02T03:36:40Z",
                "lastTimestamp": CREATED,
                "count": 4,
            },
        ),
        (
            "events.k8s.io/v1",
            {
                "regarding": {"kind": "Pod", "name": "p", "fieldPath": "spec"},
                "note": "hello",
                "reportingController": "kubelet",
                "reportingInstance": "n1",
                "eventTime": "1970-01-02T03:36:40.000000Z",
                "series": {"count": 4, "lastObservedTime": "1970-01-02T03:41:40.000000Z"},
            },
        ),
    ],
)
def test_events_look_the_same_in_both_versions(api_version: str, event: Raw) -> None:
    found = cells(api_version, "Event", raw(type="Normal", reason="Pulled", **event))
    assert found == ["5m", "Normal", "Pulled", "pod/p", "spec", "kubelet, n1", "hello", "10m", 4, "it"]


def test_an_event_with_few_fields_has_a_row() -> None:
    found = cells("v1", "Event", raw(involvedObject={"kind": "Node"}))
    assert found == ["<unknown>", "", "", "node", "", "", "", "<unknown>", 1, "it"]


@pytest.mark.parametrize(
    ("spec", "status", "shown"),
    [
        ({"clusterIPs": ["10.0.0.1"]}, {}, ["ClusterIP", "10.0.0.1", "<none>", "<none>"]),
        (
            {
                "type": "NodePort",
                "externalIPs": ["1.1.1.1"],
                "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}],
            },
            {},
            ["NodePort", "<none>", "1.1.1.1", "80:30080/TCP"],
        ),
        ({"type": "LoadBalancer"}, {}, ["LoadBalancer", "<none>", "<pending>", "<none>"]),
        (
            {"type": "LoadBalancer", "externalIPs": ["9.9.9.9"]},
            {"loadBalancer": {"ingress": [{"hostname": "b"}, {"ip": "a"}, {}]}},
            ["LoadBalancer", "<none>", "a,b,9.9.9.9", "<none>"],
        ),
        ({"type": "ExternalName", "externalName": "e.org"}, {}, ["ExternalName", "<none>", "e.org", "<none>"]),
        (
            {"type": "Other", "ports": [{"port": 53, "protocol": "UDP"}, {"port": 80}]},
            {},
            ["Other", "<none>", "<unknown>", "53/UDP,80/TCP"],
        ),
    ],
)
def test_services(spec: Raw, status: Raw, shown: list[str]) -> None:
    assert cells("v1", "Service", raw(spec=spec, status=status))[1:5] == shown


def test_the_plain_ones() -> None:
    assert cells("v1", "Namespace", raw(status={"phase": "Active"})) == ["it", "Active", "5m"]
    assert cells("v1", "ConfigMap", raw(data={"a": "", "b": ""}, binaryData={"c": ""})) == ["it", 3, "5m"]
    assert cells("v1", "Secret", raw(type="Opaque", data={"a": ""})) == ["it", "Opaque", 1, "5m"]
    assert cells("v1", "ServiceAccount", raw()) == ["it", "5m"]
    assert cells("coordination.k8s.io/v1", "Lease", raw(spec={"holderIdentity": "me"})) == ["it", "me", "5m"]
    high = raw(value=1000, preemptionPolicy="Never")
    assert cells("scheduling.k8s.io/v1", "PriorityClass", high) == ["it", 1000, False, "5m", "Never"]
    budget = raw(spec={"minAvailable": "50%"}, status={"disruptionsAllowed": 2})
    assert cells("policy/v1", "PodDisruptionBudget", budget) == ["it", "50%", "N/A", 2, "5m"]
    assert cells("policy/v1", "PodDisruptionBudget", raw(spec={"maxUnavailable": 0}))[1:4] == ["N/A", "0", 0]
