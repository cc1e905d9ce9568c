"""HorizontalPodAutoscalers keep everything on the way to version 1 and back."""

import json
from typing import Any

from moorage.model.schema.autoscaler_versions import BEHAVIOR, CONDITIONS, METRICS, STATUSES, from_v1, to_v1

Raw = dict[str, Any]
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}
OTHERS = [
    {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "5Mi"}}},
    {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "10"}}},
    {
        "type": "Object",
        "object": {"describedObject": TARGET, "metric": {"name": "rps"}, "target": {"type": "Value", "value": "2k"}},
    },
    {
        "type": "External",
        "external": {
            "metric": {"name": "q", "selector": {"matchLabels": {"a": "b"}}},
            "target": {"type": "Value", "value": "30"},
        },
    },
    {
        "type": "ContainerResource",
        "containerResource": {
            "name": "cpu",
            "container": "app",
            "target": {"type": "Utilization", "averageUtilization": 5},
        },
    },
]
BEHAVIOUR = {
    "scaleUp": {"selectPolicy": "Max", "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}]},
    "scaleDown": {"stabilizationWindowSeconds": 60},
}
STATUS = {
    "currentReplicas": 2,
    "desiredReplicas": 3,
    "currentMetrics": [
        {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 70, "averageValue": "7m"}}}
    ],
    "conditions": [{"type": "AbleToScale", "status": "True", "lastTransitionTime": None}],
}


def autoscaler(**fields: Any) -> Raw:
    spec = {"scaleTargetRef": TARGET, "minReplicas": 1, "maxReplicas": 9, **fields}
    return {"metadata": {"name": "a", "annotations": {"mine": "kept"}}, "spec": spec, "status": STATUS}


def test_converted_documents_convert_back() -> None:
    original = autoscaler(metrics=[*OTHERS, CPU], behavior=BEHAVIOUR)
    shown = to_v1(original)
    assert from_v1(shown) == original
    assert shown["spec"] == {
        "scaleTargetRef": TARGET,
        "minReplicas": 1,
        "maxReplicas": 9,
        "targetCPUUtilizationPercentage": 60,
    }
    assert shown["status"] == {"currentReplicas": 2, "desiredReplicas": 3, "currentCPUUtilizationPercentage": 70}
    assert set(shown["metadata"]["annotations"]) == {"mine", METRICS, STATUSES, CONDITIONS, BEHAVIOR}


def test_annotations_are_written_as_go_does() -> None:
    annotations = to_v1(autoscaler(metrics=OTHERS[2:3], behavior=BEHAVIOUR))["metadata"]["annotations"]
    assert annotations[METRICS] == (
        '[{"type":"Object","object":{"target":{"kind":"Deployment","name":"web","apiVersion":"apps/v1"},'
        '"metricName":"rps","targetValue":"2k"}}]'
    )
    up = json.loads(annotations[BEHAVIOR])["ScaleUp"]
    assert up["StabilizationWindowSeconds"] is None
    assert up["Policies"] == [{"Type": "Pods", "Value": 4, "PeriodSeconds": 15}]


def test_parts_of_a_document_stay_parts() -> None:
    assert from_v1({"spec": {"maxReplicas": 5}}) == {"spec": {"maxReplicas": 5}}
    assert from_v1({"metadata": {"labels": {"a": "b"}}}) == {"metadata": {"labels": {"a": "b"}}}
    assert from_v1({"spec": {"targetCPUUtilizationPercentage": None}}) == {"spec": {"metrics": None}}


def test_annotations_that_cannot_be_read_are_dropped() -> None:
    made = {"metadata": {"annotations": {METRICS: "nope", BEHAVIOR: "[]", "mine": "x"}}, "spec": {"maxReplicas": 1}}
    assert from_v1(made) == {"metadata": {"annotations": {"mine": "x"}}, "spec": {"maxReplicas": 1}}
