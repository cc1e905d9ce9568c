"""What a pod asks for: containers, sidecars, init containers, overhead, and the pod as a whole."""

from typing import Any

import pytest

from moorage.columns.resources import non_zero_requests, pod_requests, scored_requests
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import PodSpec

MIB = 1024 * 1024


def container(cpu: str | None = None, memory: str | None = None, **more: Any) -> dict[str, Any]:
    requests = {"cpu": cpu, "memory": memory}
    given = {name: value for name, value in requests.items() if value is not None}
    return {"name": "c", "resources": {"requests": given}, **more}


def spec(*containers: dict[str, Any], **more: Any) -> PodSpec:
    return convert_view({"containers": list(containers), **more}, PodSpec)


@pytest.mark.parametrize(
    ("given", "cpu"),
    [
        (spec(container("1"), container("500m")), 1500),
        (spec(container("1"), initContainers=[container("3"), container("2")]), 3000),
        (spec(container("1"), initContainers=[container("1", restartPolicy="Always")]), 2000),
        (spec(container("1"), initContainers=[container("1", restartPolicy="Always"), container("2")]), 3000),
        (spec(container("1"), initContainers=[container("2"), container("1", restartPolicy="Always")]), 2000),
        (spec(container("1"), overhead={"cpu": "250m"}), 1250),
        (spec(container("1"), resources={"requests": {"cpu": "2"}}), 2000),
        (spec(container("1"), resources={"requests": {"cpu": "2"}}, overhead={"cpu": "1"}), 3000),
        (spec(container("1"), resources={"requests": {"memory": "1Gi"}}), 1000),
    ],
)
def test_requests(given: PodSpec, cpu: int) -> None:
    assert pod_requests(given)["cpu"] == cpu


def non_zero(given: PodSpec) -> tuple[int, int]:
    found = non_zero_requests(given, pod_requests(given))
    return found["cpu"], found["memory"] // MIB


@pytest.mark.parametrize(
    ("given", "amounts"),
    [
        (spec(container()), (100, 200)),
        (spec(container(), container("1", "1Gi")), (1100, 1224)),
        (spec(container("0", "0")), (0, 0)),
        (spec(container(), resources={"requests": {"cpu": "2"}}), (2000, 200)),
        (spec(container(memory="1Gi"), container(), resources={"requests": {"cpu": "2"}}), (2000, 1024)),
    ],
)
def test_a_pod_that_is_there_counts_for_something(given: PodSpec, amounts: tuple[int, int]) -> None:
    assert non_zero(given) == amounts


def test_a_pod_that_is_scored_counts_by_its_containers() -> None:
    given = spec(container("1"), container(), resources={"requests": {"cpu": "4", "memory": "4Gi"}})
    assert scored_requests(given) == {"cpu": 1100, "memory": 400 * MIB}
