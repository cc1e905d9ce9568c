"""Requests, limits, claims, overhead, and the resources of the pod as a whole."""

from typing import Any

import pytest
from tests.unit.admit.pod.manifests import (
    NOT_A_KEY,
    NOT_A_LABEL,
    NOT_A_SUBDOMAIN,
    container_errors,
    pod_errors,
    pod_view,
)

from moorage.admit.options import ValidationOptions
from moorage.admit.pod.resources import container_total

STANDARD = "must be a standard resource type or fully qualified"
FOR_CONTAINERS = "must be a standard resource for containers"
EXTENDED = "doesn't follow extended resource name standard"
NOT_NEGATIVE = "must be greater than or equal to 0"
NEEDS_LIMIT = "resources.limits: Required value: Limit must be set for non overcommitable resources"

AMOUNTS: list[tuple[dict[str, Any], list[str]]] = [
    ({"requests": {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1"}, "limits": {"cpu": "1"}}, []),
    ({"limits": {"example.com/gpu": "2"}, "requests": {"example.com/gpu": "2"}}, []),
    ({"limits": {"hugepages-2Mi": "4Mi", "cpu": "1"}, "requests": {"hugepages-2Mi": "4Mi"}}, []),
    ({"limits": {"foo.kubernetes.io/x": "1500m"}}, []),
    (
        {"limits": {"storage": "1", "requests.cpu": "1"}},
        [
            f'resources.limits[requests.cpu]: Invalid value: "requests.cpu": {FOR_CONTAINERS}',
            f'resources.limits[storage]: Invalid value: "storage": {FOR_CONTAINERS}',
        ],
    ),
    (
        {"limits": {"odd": "-1"}},
        [
            f'resources.limits[odd]: Invalid value: "odd": {STANDARD}',
            f'resources.limits[odd]: Invalid value: "odd": {FOR_CONTAINERS}',
            f'resources.limits[odd]: Invalid value: "-1": {NOT_NEGATIVE}',
        ],
    ),
    (
        {"limits": {"_": "1"}},
        [
            f'resources.limits[_]: Invalid value: "_": {NOT_A_KEY}',
            f'resources.limits[_]: Invalid value: "_": {FOR_CONTAINERS}',
        ],
    ),
    (
        {"limits": {"_/x": "1", f"{'a' * 250}/x": "1"}},
        [
            f'resources.limits[_/x]: Invalid value: "_/x": prefix part {NOT_A_SUBDOMAIN}',
            f'resources.limits[_/x]: Invalid value: "_/x": {EXTENDED}',
            f'resources.limits[{"a" * 250}/x]: Invalid value: "{"a" * 250}/x": {EXTENDED}',
        ],
    ),
    ({"requests": {"example.com/gpu": "1"}}, [NEEDS_LIMIT]),
    (
        {"limits": {"example.com/gpu": "2"}, "requests": {"example.com/gpu": "500m"}},
        [
            'resources.requests[example.com/gpu]: Invalid value: "500m": must be an integer',
            'resources.requests: Invalid value: "500m": must be equal to example.com/gpu limit of 2',
        ],
    ),
    (
        {"limits": {"pods": "500m"}},
        [
            f'resources.limits[pods]: Invalid value: "pods": {FOR_CONTAINERS}',
            'resources.limits[pods]: Invalid value: "500m": must be an integer',
        ],
    ),
    (
        {"limits": {"cpu": "100m"}, "requests": {"cpu": "0.2"}},
        ['resources.requests: Invalid value: "200m": must be less than or equal to cpu limit of 100m'],
    ),
    ({"limits": {"cpu": "1"}, "requests": {"cpu": "1000m"}}, []),
    (
        {"limits": {"hugepages-0": "0", "hugepages-x": "1", "hugepages-500m": "1", "cpu": "1"}},
        [
            f'resources.limits[hugepages-{size}]: Invalid value: "{amount}": '
            f"{amount} is not positive integer multiple of hugepages-{size}"
            for size, amount in (("0", "0"), ("500m", "1"), ("x", "1"))
        ],
    ),
    (
        {"requests": {"hugepages-2Mi": "2Mi"}},
        [NEEDS_LIMIT, "resources: Forbidden: HugePages require cpu or memory"],
    ),
]

CLAIMS: list[tuple[list[dict[str, Any]], list[str]]] = [
    ([{"name": "a", "request": "x"}, {"name": "a", "request": "y"}, {"name": "b"}], []),
    ([{}], ["[0]: Required value"]),
    ([{"name": "a"}, {"name": "a"}], ['[1]: Duplicate value: "a"']),
    ([{"name": "a"}, {"name": "a", "request": "_"}], ['[1]: Duplicate value: "a"']),
    ([{"name": "a", "request": "x"}, {"name": "a", "request": "x"}], ['[1]: Duplicate value: "a/x"']),
    (
        [{"name": "a", "request": "x"}, {"name": "a", "request": "y"}, {"name": "a"}],
        ['[2]: Duplicate value: "a"', '[2]: Duplicate value: "a"'],
    ),
    (
        [{"name": "c", "request": "_"}],
        [
            f'[0].request: Invalid value: "_": {NOT_A_LABEL}',
            '[0]: Not found: "c": must be one of the names in pod.spec.resourceClaims: a, b',
        ],
    ),
]


@pytest.mark.parametrize(("resources", "expected"), AMOUNTS)
def test_containers(resources: dict[str, Any], expected: list[str]) -> None:
    assert container_errors({"resources": resources}) == expected


@pytest.mark.parametrize(("claims", "expected"), CLAIMS)
def test_claims_of_containers(claims: list[dict[str, Any]], expected: list[str]) -> None:
    known = [{"name": "b", "resourceClaimName": "x"}, {"name": "a", "resourceClaimTemplateName": "y"}]
    found = container_errors({"resources": {"claims": claims}}, {"resourceClaims": known})
    assert found == [f"resources.claims{error}" for error in expected]


def test_claims_of_the_pod() -> None:
    claims = [
        {},
        {"name": "a", "resourceClaimName": ""},
        {"name": "a", "resourceClaimTemplateName": "_"},
        {"name": "_"},
    ]
    nothing = '"ResourceClaimName":null,"ResourceClaimTemplateName":null}'
    one_of = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
    assert pod_errors({"resourceClaims": claims}) == [
        "spec.resourceClaims[0].name: Required value",
        f'spec.resourceClaims[0]: Invalid value: {{"Name":"",{nothing}: {one_of}',
        f'spec.resourceClaims[1].resourceClaimName: Invalid value: "": {NOT_A_SUBDOMAIN}',
        'spec.resourceClaims[2].name: Duplicate value: "a"',
        f'spec.resourceClaims[2].resourceClaimTemplateName: Invalid value: "_": {NOT_A_SUBDOMAIN}',
        f'spec.resourceClaims[3].name: Invalid value: "_": {NOT_A_LABEL}',
        f'spec.resourceClaims[3]: Invalid value: {{"Name":"_",{nothing}: {one_of}',
    ]


def test_static_pods_have_no_claims() -> None:
    metadata = {"annotations": {"kubernetes.io/config.mirror": "x"}}
    assert pod_errors({"resourceClaims": [{}], "nodeName": "n"}, metadata) == [
        "[]: Forbidden: static pods do not support resource claims"
    ]


def test_old_pods_may_keep_indivisible_pages() -> None:
    allowed = ValidationOptions(resource_is_pod=True, allow_indivisible_huge_pages_values=True)
    limits = {"resources": {"limits": {"cpu": "1", "hugepages-2Mi": "3Mi"}}}
    assert container_errors(limits, options=allowed) == []


def test_overhead_is_checked_like_limits() -> None:
    assert pod_errors({"overhead": {"cpu": "-1"}}) == [
        f'spec.overhead.limits[cpu]: Invalid value: "-1": {NOT_NEGATIVE}'
    ]


def test_resources_of_the_pod() -> None:
    assert pod_errors({"resources": {"limits": {"_": "1", "storage": "1", "memory": "-1"}, "claims": [{}]}}) == [
        "spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level",
        f'spec.resources.limits[_]: Invalid value: "_": {NOT_A_KEY}',
        f'spec.resources.limits[memory]: Invalid value: "-1": {NOT_NEGATIVE}',
        'spec.resources.limits[storage]: Unsupported value: "storage": supported values: "cpu", "hugepages-", "memory"',
        "spec.resources.claims[0]: Required value",
    ]
    assert pod_errors({"resources": {"limits": {"_": "1"}}, "os": {"name": "windows"}}) == [
        "spec.resources: Forbidden: may not be set for a windows pod"
    ]


def test_the_pod_has_enough_for_its_containers() -> None:
    containers = [
        {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "3", "hugepages-2Mi": "4Mi"}}},
        {"resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"hugepages-2Mi": "4Mi", "cpu": "1"}}},
    ]
    for container in containers:
        container["resources"]["requests"]["hugepages-2Mi"] = "4Mi"
    enough = {"requests": {"cpu": "1.5", "hugepages-2Mi": "8Mi"}, "limits": {"cpu": "3", "hugepages-2Mi": "8Mi"}}
    assert pod_errors({"containers": containers, "resources": enough}) == []
    scarce = {"requests": {"cpu": "1", "hugepages-2Mi": "6Mi"}, "limits": {"cpu": "2", "hugepages-2Mi": "6Mi"}}
    assert pod_errors({"containers": containers, "resources": scarce}) == [
        'spec.resources.requests[cpu]: Invalid value: "1": '
        "must be greater than or equal to aggregate container requests of 1500m",
        'spec.resources.requests[hugepages-2Mi]: Invalid value: "6Mi": '
        "must be greater than or equal to aggregate container requests of 8Mi",
        'spec.resources.limits[hugepages-2Mi]: Invalid value: "6Mi": '
        "must be greater than or equal to aggregate container limits of 8Mi",
        'spec.resources.containers[0][cpu].limits: Invalid value: "3": must be less than or equal to pod limits of 2',
    ]


def test_what_containers_need_together() -> None:
    def asking(cpu: str, **more: str) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = pod_view(
        {
            "containers": [asking("1"), asking("2")],
            "initContainers": [asking("1"), asking("500m", restartPolicy="Always"), asking("4"), asking("1")],
        }
    ).spec
    assert str(container_total(spec, "requests")["cpu"]) == "4500m"
    assert container_total(spec, "limits") == {}


def test_sums_that_cannot_be_written_out() -> None:
    huge = {"resources": {"requests": {"memory": "1e100000000"}}}
    tiny = {"resources": {"requests": {"memory": "1"}}}
    spec = {"containers": [tiny, huge], "resources": {"requests": {"memory": "1Gi"}}}
    at = 'spec.resources.requests[memory]: Invalid value: "1Gi": must be greater than or equal to aggregate'
    assert [error.partition(" container")[0] for error in pod_errors(spec)] == [at]
