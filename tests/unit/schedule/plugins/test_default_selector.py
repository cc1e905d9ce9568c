"""The selector of what a pod belongs to."""

from typing import Any

from moorage.columns.cluster import Cluster
from moorage.columns.shape import Shape
from moorage.match.label_selector import NOTHING, parse_selector
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.schedule.plugins.spread_domains import DefaultSelectors


def shape(labels: dict[str, str], owner: tuple[str, str] | None = None) -> Shape:
    metadata: dict[str, Any] = {"namespace": "default", "labels": labels}
    if owner is not None:
        metadata["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True}]
    return Cluster().shape_of(convert_view({"metadata": metadata}, Pod))


def test_pod_without_services_and_controllers_has_an_empty_selector() -> None:
    selectors = DefaultSelectors()
    selectors.set_service("team", "web", {"app": "web"})
    selectors.set_service("default", "db", {"app": "db"})
    assert selectors.selector(shape({"app": "web"})).everything


def test_services_that_select_the_pod_are_merged() -> None:
    selectors = DefaultSelectors()
    selectors.set_service("default", "web", {"app": "web"})
    selectors.set_service("default", "front", {"tier": "front"})
    selectors.set_service("default", "headless", {})
    assert str(selectors.selector(shape({"app": "web", "tier": "front"}))) == "app=web,tier=front"
    selectors.set_service("default", "front", None)
    assert str(selectors.selector(shape({"app": "web", "tier": "front"}))) == "app=web"


def test_the_controller_adds_its_selector() -> None:
    selectors = DefaultSelectors()
    selectors.set_service("default", "web", {"app": "web"})
    selectors.set_controller("ReplicaSet", "default", "web-1", parse_selector("hash in (1)"))
    selectors.set_controller("Job", "default", "web-1", parse_selector("job=1"))
    assert str(selectors.selector(shape({"app": "web"}, ("ReplicaSet", "web-1")))) == "app=web,hash in (1)"
    assert str(selectors.selector(shape({"app": "web"}, ("Job", "web-1")))) == "app=web"
    assert str(selectors.selector(shape({"app": "web"}, ("ReplicaSet", "gone")))) == "app=web"


def test_version_changes_with_every_change() -> None:
    selectors = DefaultSelectors()
    selectors.set_controller("StatefulSet", "default", "db", parse_selector("app=db"))
    version = selectors.version
    selectors.set_controller("StatefulSet", "default", "db", NOTHING)
    assert selectors.version > version
    assert selectors.selector(shape({"app": "db"}, ("StatefulSet", "db"))).everything
