import json
import re
from typing import Any

import pytest

from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS, STANDARD_VERBS
from moorage.serve.resources.discovery import aggregated_version, answer_discovery, version_document
from moorage.serve.resources.served import RESOURCES, Resources

Raw = dict[str, Any]

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
#: What kubectl sends.
KUBECTL = f"{AGGREGATED.format('v2')},{AGGREGATED.format('v2beta1')},application/json"

EVERYTHING = Resources(gates_from({"AllAlpha": True, "AllBeta": True}))


def get(path: str, accept: str = "application/json") -> Raw:
    answer = answer_discovery(path, accept, EVERYTHING)
    assert answer is not None
    assert answer.status == 200
    document: Raw = json.loads(answer.body)
    return document


def resources(path: str) -> dict[str, Raw]:
    return {entry["name"]: entry for entry in get(path)["resources"]}


def test_the_roots() -> None:
    assert get("/api")["versions"] == ["v1"]
    groups = [group["name"] for group in get("/apis")["groups"]]
    assert groups[1:3] == ["apps", "events.k8s.io"]  # clients try them in this order
    assert set(groups) == {kind.group for kind in RESOURCES.values()} - {""}
    assert get("/apis/batch") == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "batch",
        "versions": [{"groupVersion": "batch/v1", "version": "v1"}],
        "preferredVersion": {"groupVersion": "batch/v1", "version": "v1"},
    }


@pytest.mark.parametrize("address", ["127.0.0.1:6443", "[::1]:443", ""])
def test_the_core_root_has_the_address_of_the_server(address: str) -> None:
    answer = answer_discovery("/api", "application/json", EVERYTHING, address)
    assert answer is not None
    assert json.loads(answer.body) == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}] if address else [],
    }


@pytest.mark.parametrize(
    "path", ["/", "/api/v2", "/apis/x", "/apis/apps/v2", "/apis/apps/v1/pods", "/apis//v1", "/healthz"]
)
def test_what_is_not_there(path: str) -> None:
    assert answer_discovery(path) is None


def test_resources_of_the_core_group() -> None:
    core = resources("/api/v1")
    assert core["pods"] == {
        "name": "pods",
        "singularName": "pod",
        "namespaced": True,
        "kind": "Pod",
        "verbs": list(STANDARD_VERBS),
        "shortNames": ["po"],
        "categories": ["all"],
        "storageVersionHash": "xPOwRZ+Yhw8=",
    }
    eviction = {"singularName": "", "namespaced": True, "kind": "Eviction", "verbs": ["create"]}
    assert core["pods/eviction"] == {"name": "pods/eviction", "group": "policy", "version": "v1", **eviction}
    assert core["pods/log"]["verbs"] == ["get"]
    assert "deletecollection" not in core["namespaces"]["verbs"]
    assert core["namespaces/finalize"]["verbs"] == ["update"]
    assert core["bindings"]["verbs"] == ["create"]
    assert core["pods/exec"]["kind"] == "PodExecOptions"


def test_scale_is_of_another_group() -> None:
    apps = resources("/apis/apps/v1")
    for workload in ("deployments", "replicasets", "statefulsets"):
        scale = apps[f"{workload}/scale"]
        assert (scale["kind"], scale["group"], scale["version"]) == ("Scale", "autoscaling", "v1")
    assert "daemonsets/scale" not in apps


def test_every_kind_is_found() -> None:
    for kind in KINDS.values():
        path = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.api_version}"
        found = resources(path)[kind.plural]
        assert (found["kind"], found["namespaced"], found["singularName"]) == (
            kind.name,
            kind.namespaced,
            kind.name.lower(),
        )


def test_questions_about_oneself() -> None:
    assert resources("/apis/authentication.k8s.io/v1")["selfsubjectreviews"]["verbs"] == ["create"]
    assert resources("/apis/authorization.k8s.io/v1")["selfsubjectaccessreviews"]["verbs"] == ["create"]


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
def test_aggregated_discovery_lists_the_same_resources_as_the_single_paths(version: str) -> None:
    """Path by path and at once, clients must come to the same resources."""
    for root in ("/api", "/apis"):
        document = get(root, AGGREGATED.format(version))
        assert document["apiVersion"] == f"apidiscovery.k8s.io/{version}"
        assert document["kind"] == "APIGroupDiscoveryList"
        for group in document["items"]:
            for group_version in group["versions"]:
                name = group["metadata"].get("name")
                path = f"/apis/{name}/{group_version['version']}" if name else f"/api/{group_version['version']}"
                assert _flattened(group_version["resources"]) == {
                    plural: (entry["kind"], tuple(entry["verbs"])) for plural, entry in resources(path).items()
                }


def _flattened(entries: list[Raw]) -> dict[str, tuple[str, tuple[str, ...]]]:
    found = {}
    for entry in entries:
        found[entry["resource"]] = (entry["responseKind"]["kind"], tuple(entry["verbs"]))
        for sub in entry.get("subresources", ()):
            name = f"{entry['resource']}/{sub['subresource']}"
            found[name] = (sub["responseKind"]["kind"], tuple(sub["verbs"]))
    return found


def test_aggregated_answers_carry_a_tag_that_tells_them_apart() -> None:
    answers = [answer_discovery(root, AGGREGATED.format(v)) for root in ("/api", "/apis") for v in ("v2", "v2beta1")]
    tags = [dict(answer.headers)["ETag"] for answer in answers if answer is not None]
    assert len(set(tags)) == 4
    assert all(re.fullmatch('"[0-9A-F]{128}"', tag) for tag in tags)
    again = answer_discovery("/apis", KUBECTL)
    assert again is not None
    assert again.content_type == AGGREGATED.format("v2")
    assert dict(again.headers)["ETag"] == tags[2]


@pytest.mark.parametrize(
    ("accept", "version"),
    [
        ("", ""),
        ("application/json", ""),
        ("*/*", ""),
        (KUBECTL, "v2"),
        (AGGREGATED.format("v2beta1"), "v2beta1"),
        (f"application/json, {AGGREGATED.format('v2')}", ""),
        (f"{AGGREGATED.format('v3')}, {AGGREGATED.format('v2')}", "v2"),
        ("application/json; g = x;as=Table;v=v1", ""),
        (AGGREGATED.format("v2").replace(";", " ; "), "v2"),
        (";;,=;as,", ""),
    ],
)
def test_what_accept_headers_ask_for(accept: str, version: str) -> None:
    assert aggregated_version(accept) == version


def test_the_version_is_one_that_clients_can_compare() -> None:
    version = version_document()
    assert (version["major"], version["minor"]) == ("1", "36")
    assert re.fullmatch(r"v1\.36\.\d+\+moorage-[0-9A-Za-z.-]+", version["gitVersion"])
    assert all(isinstance(value, str) for value in version.values())


def test_no_two_resources_share_a_name_in_their_group() -> None:
    names: set[tuple[str, str]] = set()
    for (group, _, plural), resource in RESOURCES.items():
        for name in {plural, resource.singular, *resource.short_names}:
            assert (group, name) not in names
            names.add((group, name))
