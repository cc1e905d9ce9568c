"""What a shape tells apart, and what of it is a need."""

from typing import Any

import pytest
from tests.unit.schedule.clusters import pod

from moorage.columns.cluster import Cluster
from moorage.columns.shape import Shape, needs_key

IMAGE: dict[str, Any] = {"name": "model", "image": {"reference": "models/small:1"}}
OTHER_IMAGE: dict[str, Any] = {"name": "model", "image": {"reference": "models/large:1"}}


def shape(labels: dict[str, str] | None = None, **spec: Any) -> Shape:
    return Cluster().shape_of(pod("p", labels, **spec))


def test_pods_with_other_image_volumes_have_other_shapes() -> None:
    cluster = Cluster()
    small, large = (cluster.shape_of(pod("p", None, volumes=[volume])) for volume in (IMAGE, OTHER_IMAGE))
    assert small is not large


@pytest.mark.parametrize("spec", [{"priority": 5}, {"schedulerName": "x"}, {"preemptionPolicy": "Never"}])
def test_labels_and_priority_are_not_needs(spec: dict[str, Any]) -> None:
    assert needs_key(shape()) == needs_key(shape({"app": "web"}, **spec))


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [{"name": "c", "image": "a", "resources": {"requests": {"cpu": "1"}}}]},
        {"containers": [{"name": "c", "image": "a", "ports": [{"containerPort": 1, "hostPort": 1}]}]},
        {"nodeSelector": {"zone": "a"}},
        {"tolerations": [{"key": "spot", "operator": "Exists"}]},
        {"volumes": [IMAGE]},
        {"overhead": {"cpu": "1"}},
    ],
)
def test_what_a_pod_asks_of_a_node_is_a_need(spec: dict[str, Any]) -> None:
    assert needs_key(shape()) != needs_key(shape(**spec))


def test_claims_and_expressions_are_needs_that_are_not_shared() -> None:
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    expression = {"operator": "Expression", "expression": "true"}
    assert needs_key(shape(volumes=[claim])) is None
    assert needs_key(shape(tolerations=[expression])) is None
