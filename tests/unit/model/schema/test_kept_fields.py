"""What is left of a document: what the API knows, and what says something."""

from typing import Any

import pytest

from moorage.model.schema.known_fields import kept_part, omit_empty
from moorage.model.types.pod import Pod
from moorage.model.types.workload import Deployment

POD = {"spec": {"containers": [{"name": "c", "image": "i", "resources": {}}], "tolerations": []}}


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ({"odd": 1, "spec": {"nodeName": "n"}}, {"spec": {"nodeName": "n"}}),
        (
            {"spec": {"contaners": [], "containers": [{"nam": "x", "name": "c"}]}},
            {"spec": {"containers": [{"name": "c"}]}},
        ),
        ({"spec": {"nodeName": None, "containers": None}}, {"spec": {}}),
        (
            {"spec": {"containers": [{"env": None, "name": "c"}, None]}},
            {"spec": {"containers": [{"name": "c"}, {"name": ""}]}},
        ),
        ({"metadata": {"deletionTimestamp": None}, "status": {"startTime": None}}, {"metadata": {}, "status": {}}),
        ({"metadata": {"creationTimestamp": None, "labels": {"a": None}}}, {"metadata": {"labels": {"a": None}}}),
        ({"status": {"conditions": [{"type": "Ready", "status": "True", "lastProbeTime": None}]}}, None),
        ({"spec": {"hostNetwork": False, "priority": 0, "schedulerName": ""}}, {"spec": {"priority": 0}}),
        ({"spec": {"hostNetwork": 0, "nodeName": [], "tolerations": []}}, None),
        (
            {"spec": {"overhead": {"cpu": 0.5, "memory": "1024Mi", "pods": "1", "x": "odd", "y": None}}},
            {"spec": {"overhead": {"cpu": "500m", "memory": "1Gi", "pods": "1", "x": "odd", "y": "0"}}},
        ),
        ({"status": {"conditions": [{}]}}, {"status": {"conditions": [{"type": "", "status": ""}]}}),
        ({"metadata": {"annotations": {"odd": "1"}, "labels": None}}, {"metadata": {"annotations": {"odd": "1"}}}),
        ({"spec": {"nodeSelector": {"odd": "1"}, "containers": "none"}}, None),
        (POD, None),
        ("no document", None),
    ],
)
def test_what_is_kept(raw: Any, kept: Any) -> None:
    """Without an expectation: all of it, and not even a copy."""
    found = kept_part(raw, Pod)
    if kept is None:
        assert found is raw
    else:
        assert found == kept


def test_null_creation_timestamp_of_a_template_is_dropped() -> None:
    template: dict[str, Any] = {"metadata": {"creationTimestamp": None, "labels": {"app": "web"}}, "spec": POD["spec"]}
    kept = kept_part({"spec": {"template": template}, "status": {}}, Deployment)
    assert kept == {"spec": {"template": {**template, "metadata": {"labels": {"app": "web"}}}}, "status": {}}
    assert kept["spec"]["template"]["spec"] is POD["spec"]
    assert "creationTimestamp" in template["metadata"]


def test_empty_lists_and_maps_are_left_out_but_for_those_always_written() -> None:
    container = {"name": "c", "env": [], "resources": {"limits": {}}, "securityContext": {}}
    pod: dict[str, Any] = {"metadata": {"labels": {}}, "spec": {"nodeSelector": {}, "containers": [container]}}
    omit_empty(pod, Pod)
    kept = {"name": "c", "resources": {}, "securityContext": {}}
    assert pod == {"metadata": {}, "spec": {"containers": [kept]}}
