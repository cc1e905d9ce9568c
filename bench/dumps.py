"""Write a cluster as `kubectl get nodes,deployments,replicasets,pods -A -o yaml` or `-o json` prints it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REPLICAS = 200
_TIME = "2026-11-01T10:00:00Z"
_ZONE = "topology.kubernetes.io/zone"


def write_dump(path: Path, nodes: int, pods: int) -> None:
    """Write a List of nodes and of Deployments with their ReplicaSets and placed pods; YAML or JSON, by the name."""
    is_json = path.suffix == ".json"
    with path.open("w", encoding="utf-8") as stream:
        stream.write('{\n    "apiVersion": "v1",\n    "items": [' if is_json else "apiVersion: v1\nitems:\n")
        for number, text in enumerate(_items(nodes, pods, is_json=is_json)):
            stream.write(("," if is_json and number else "") + text)
        end = '\n    ],\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n    }\n}\n'
        stream.write(end if is_json else 'kind: List\nmetadata:\n  resourceVersion: ""\n')


def _items(nodes: int, pods: int, *, is_json: bool) -> Iterator[str]:
    node = _Template(_node(), is_json=is_json)
    for number in range(nodes):
        yield node.filled(NAME=f"node-{number}", UID=_uid(1, number), ZONE=f"z{number % 3}", NET=_net(number))
    for owner in range(pods // REPLICAS):
        name, uids = f"web-{owner}", {"OWNER": _uid(2, owner), "SET": _uid(3, owner)}
        for one in (_deployment(name), _replica_set(name)):
            yield _Template(one, is_json=is_json).filled(**uids)
        pod = _Template(_pod(name), is_json=is_json)
        for number in range(owner * REPLICAS, (owner + 1) * REPLICAS):
            node_of = number % nodes
            yield pod.filled(
                SUFFIX=f"{number:05x}",
                UID=_uid(4, number),
                NODE=f"node-{node_of}",
                NET=_net(node_of),
                HOST=str(2 + number // nodes),
                CONTAINER=f"containerd://{number:064x}",
                **uids,
            )


class _Template:
    """The text of an object, in which words in capitals between at-signs stand for its own values."""

    def __init__(self, document: dict[str, Any], *, is_json: bool) -> None:
        if is_json:
            lines = json.dumps(document, indent=4).splitlines()
            self._text = "\n" + "\n".join(" " * 8 + line for line in lines)
        else:
            self._text = yaml.dump([document], Dumper=_Plain)

    def filled(self, **values: str) -> str:
        text = self._text
        for name, value in values.items():
            text = text.replace(f"@{name}@", value)
        return text


class _Plain(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _uid(kind: int, number: int) -> str:
    return f"3f2a{kind:04x}-0000-4000-8000-{number:012x}"


def _net(number: int) -> str:
    return f"10.{number // 250}.{number % 250}"


def _meta(name: str, uid: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "uid": uid, "resourceVersion": "1000", "creationTimestamp": _TIME, **more}


def _owned(kind: str, name: str, uid: str) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}


def _node() -> dict[str, Any]:
    resources = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    conditions = [
        {"type": name, "status": str(name == "Ready"), "lastHeartbeatTime": _TIME, "lastTransitionTime": _TIME}
        for name in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    labels = {_ZONE: "@ZONE@", "kubernetes.io/hostname": "@NAME@", "kubernetes.io/os": "linux"}
    addresses = [{"type": "InternalIP", "address": "@NET@.1"}, {"type": "Hostname", "address": "@NAME@"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _meta("@NAME@", "@UID@", labels=labels),
        "spec": {"podCIDR": "@NET@.0/24", "providerID": "cloud:///@NAME@"},
        "status": {"addresses": addresses, "allocatable": resources, "capacity": resources, "conditions": conditions},
    }


def _template(name: str) -> dict[str, Any]:
    requests = {"cpu": "500m", "memory": "512Mi"}
    toleration = {"key": "sla", "operator": "Gt", "value": "905", "effect": "NoSchedule"}
    spec = {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": requests}}]}
    return {"metadata": {"labels": {"app": name}}, "spec": {**spec, "tolerations": [toleration]}}


def _deployment(name: str) -> dict[str, Any]:
    selector = {"matchLabels": {"app": name}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _meta(name, "@OWNER@", namespace="default", annotations={"deployment.kubernetes.io/revision": "1"}),
        "spec": {"replicas": REPLICAS, "selector": selector, "template": _template(name)},
        "status": {"replicas": REPLICAS, "updatedReplicas": REPLICAS, "readyReplicas": REPLICAS},
    }


def _labels(name: str) -> dict[str, str]:
    return {"app": name, "pod-template-hash": "7c9f8d"}


def _replica_set(name: str) -> dict[str, Any]:
    labels, template = _labels(name), _template(name)
    about = {"labels": labels, "ownerReferences": [_owned("Deployment", name, "@OWNER@")]}
    annotations = {"deployment.kubernetes.io/revision": "1"}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": _meta(f"{name}-7c9f8d", "@SET@", namespace="default", annotations=annotations, **about),
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": labels},
            "template": {**template, "metadata": {"labels": labels}},
        },
        "status": {"replicas": REPLICAS, "readyReplicas": REPLICAS, "availableReplicas": REPLICAS},
    }


def _pod(name: str) -> dict[str, Any]:
    token, spec = "kube-api-access-@SUFFIX@", _template(name)["spec"]
    mount = {"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": token, "readOnly": True}
    about = {
        "generateName": f"{name}-7c9f8d-",
        "labels": _labels(name),
        "ownerReferences": [_owned("ReplicaSet", f"{name}-7c9f8d", "@SET@")],
    }
    sources = [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}]
    running = {"containerID": "@CONTAINER@", "image": "i:1", "imageID": "i@sha256:0", "name": "c", "ready": True}
    conditions = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _meta(f"{name}-7c9f8d-@SUFFIX@", "@UID@", namespace="default", **about),
        "spec": {
            **spec,
            "containers": [{**spec["containers"][0], "volumeMounts": [mount]}],
            "nodeName": "@NODE@",
            "schedulerName": "default-scheduler",
            "serviceAccountName": "default",
            "volumes": [{"name": token, "projected": {"defaultMode": 420, "sources": sources}}],
        },
        "status": {
            "phase": "Running",
            "podIP": "@NET@.@HOST@",
            "podIPs": [{"ip": "@NET@.@HOST@"}],
            "startTime": _TIME,
            "conditions": [{"type": one, "status": "True", "lastTransitionTime": _TIME} for one in conditions],
            "containerStatuses": [{**running, "restartCount": 0, "state": {"running": {"startedAt": _TIME}}}],
        },
    }
