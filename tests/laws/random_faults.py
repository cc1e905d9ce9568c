"""Spoil manifests: each fault is one that an API server finds, or finds while a feature gate is off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from tests.laws.random_worlds import Dimension, World, is_existing, worlds
from tests.unit.plan.planning import Raw

from moorage.admit.raw import copy_document

Fault = Callable[[Raw], None]


def pod_spec_of(document: Raw) -> Raw | None:
    """Return the spec of the pods that a document is or makes; None if there are none."""
    if document["kind"] == "Pod":
        return document["spec"]  # type: ignore[no-any-return]
    template = document.get("spec", {}).get("template")
    return None if template is None else template["spec"]


def with_toleration(**toleration: Any) -> Fault:
    def spoil(document: Raw) -> None:
        spec = pod_spec_of(document)
        if spec is not None:
            spec["tolerations"] = [*spec.get("tolerations", ()), toleration]

    return spoil


def with_request(**amounts: str) -> Fault:
    def spoil(document: Raw) -> None:
        spec = pod_spec_of(document)
        if spec is not None:
            spec["containers"][0]["resources"] = {"requests": amounts}

    return spoil


def with_container(**fields: Any) -> Fault:
    def spoil(document: Raw) -> None:
        spec = pod_spec_of(document)
        if spec is not None:
            spec["containers"][0] |= fields

    return spoil


def with_spec(**fields: Any) -> Fault:
    """Spoil fields of the spec of any object that has one."""

    def spoil(document: Raw) -> None:
        if "spec" in document:
            document["spec"] |= fields

    return spoil


def with_taint(**taint: Any) -> Fault:
    def spoil(document: Raw) -> None:
        if document["kind"] == "Node":
            document["spec"]["taints"] = [taint]

    return spoil


def with_labels(**labels: str) -> Fault:
    def spoil(document: Raw) -> None:
        document["metadata"]["labels"] = labels

    return spoil


FAULTS: tuple[Fault, ...] = (
    with_toleration(key="a", operator="Near", value="1"),
    with_toleration(key="a", operator="Lt", value="x"),
    with_toleration(key="a", operator="Lt", value="1"),
    with_toleration(key="a", operator="SemverGt", value="1.0"),
    with_toleration(key="a", operator="SemverGt", value="1.0.0"),
    with_toleration(key="a", operator="Exists", value="1"),
    with_toleration(key="a", operator="Exists", effect="NoSchedule", tolerationSeconds=5),
    with_toleration(key="a", operator="Exists", effect="Never"),
    with_toleration(operator="Equal", value="1"),
    with_toleration(expression="taint.value <"),
    with_toleration(expression="taint.value == 'x'"),
    with_request(cpu="-1"),
    with_request(cpu="1", **{"Bad Name": "1"}),
    with_container(name="C"),
    with_container(image=""),
    with_container(ports=[{"containerPort": 70_000}]),
    with_spec(replicas=-1),
    with_spec(parallelism=-1),
    with_spec(nodeName="Bad_Name"),
    with_spec(priorityClassName="absent"),
    with_spec(priority=7),
    with_spec(hard={"pods": "-1"}),
    with_spec(limits=[{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]),
    with_spec(minAvailable=1, maxUnavailable=1),
    with_spec(restartPolicy="Sometimes"),
    with_taint(key="a b", effect="NoSchedule"),
    with_taint(key="a", effect="Never"),
    with_taint(key="a", value="x y", effect="NoSchedule"),
    with_labels(a="not a label!"),
)


@st.composite
def faulty_worlds(draw: st.DrawFn, dimensions: frozenset[Dimension]) -> World:
    """Draw a world in which one document may have a fault. What exists has none: an API server took it."""
    world = draw(worlds(dimensions))
    created = [number for number, document in enumerate(world.documents) if not is_existing(document)]
    number, spoil = draw(st.sampled_from(created)), draw(st.none() | st.sampled_from(FAULTS))
    if spoil is None:
        return world
    documents = list(world.documents)
    documents[number] = copy_document(documents[number])
    spoil(documents[number])
    return world._replace(documents=documents)
