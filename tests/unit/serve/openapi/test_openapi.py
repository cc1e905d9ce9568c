"""OpenAPI documents: what kubectl looks for in them is there."""

import json
from typing import Any

import pytest

from moorage.model.kinds import KINDS, VIRTUAL_KINDS
from moorage.serve.openapi.definitions import TEXTS, definition_name, describe_field, describe_type
from moorage.serve.openapi.documents import etag_of, openapi_v2, openapi_v2_protobuf, openapi_v3, openapi_v3_index

Raw = dict[str, Any]

ALL = (*KINDS.values(), *VIRTUAL_KINDS)


def _v3(group_version: str) -> Raw:
    document = openapi_v3(group_version, ALL)
    assert document is not None
    return dict(json.loads(document))


def _references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*(_references(item) for item in value.values()))
    return set().union(*(_references(item) for item in value)) if isinstance(value, list) else set()


def test_every_reference_leads_somewhere() -> None:
    swagger = json.loads(openapi_v2(ALL))
    assert {reference.rpartition("/")[2] for reference in _references(swagger)} <= swagger["definitions"].keys()
    older = {f"{facts.group}/{version}" for facts in ALL for version in facts.older_versions}
    for group_version in {facts.api_version for facts in ALL} | older:
        document = _v3(group_version)
        names = {reference.rpartition("/")[2] for reference in _references(document)}
        assert names <= document["components"]["schemas"].keys()


def _empty_lists(value: Any, path: str = "") -> list[str]:
    if isinstance(value, dict):
        if path.endswith("/properties") and not value:
            return [path]
        return [found for name, item in value.items() for found in _empty_lists(item, f"{path}/{name}")]
    if isinstance(value, list):
        return [found for item in value for found in _empty_lists(item, path)] if value else [path]
    return []


def test_nothing_is_an_empty_list_which_types_of_go_lose() -> None:
    for group_version in {facts.api_version for facts in ALL}:
        assert _empty_lists(_v3(group_version)) == []


@pytest.mark.parametrize("facts", ALL, ids=lambda facts: f"{facts.api_version}-{facts.name}")
def test_explain_finds_each_kind_by_its_path(facts: Any) -> None:
    document = _v3(facts.api_version)
    base = f"/apis/{facts.api_version}" if facts.group else "/api/v1"
    space = "/namespaces/{namespace}" if facts.namespaced else ""
    operation = document["paths"][f"{base}{space}/{facts.plural}"]["get" if "list" in facts.verbs else "post"]
    kind = operation["x-kubernetes-group-version-kind"]
    assert kind == {"group": facts.group, "version": facts.version, "kind": facts.name}
    schema = document["components"]["schemas"][definition_name(facts.view)]
    assert kind in schema["x-kubernetes-group-version-kind"]


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2", "v1alpha3"])
def test_older_versions_have_documents_with_types_of_their_own(version: str) -> None:
    document = _v3(f"resource.k8s.io/{version}")
    schemas = document["components"]["schemas"]
    of_group = {name for name in schemas if name.startswith("io.k8s.api.resource.")}
    assert {name.split(".")[4] for name in of_group} == {version}
    served = [facts for facts in ALL if version in (facts.version, *facts.older_versions) and "resource" in facts.group]
    for facts in served:
        gvk = {"group": "resource.k8s.io", "version": version, "kind": facts.name}
        assert gvk in schemas[f"io.k8s.api.resource.{version}.{facts.name}"]["x-kubernetes-group-version-kind"]
        space = "/namespaces/{namespace}" if facts.namespaced else ""
        paths = f"/apis/resource.k8s.io/{version}{space}/{facts.plural}"
        assert document["paths"][paths]["get"]["x-kubernetes-group-version-kind"] == gvk
        assert paths in json.loads(openapi_v2(ALL))["paths"]
    assert f"apis/resource.k8s.io/{version}" in json.loads(openapi_v3_index(ALL))["paths"]


def test_the_first_beta_version_of_devices_has_another_structure() -> None:
    for types in (_v3("resource.k8s.io/v1beta1")["components"]["schemas"], json.loads(openapi_v2(ALL))["definitions"]):
        fields = {
            name: types[f"io.k8s.api.resource.v1beta1.{name}"]["properties"] for name in ("DeviceRequest", "Device")
        }
        assert {"name", "deviceClassName", "firstAvailable", "tolerations"} <= fields["DeviceRequest"].keys()
        assert "exactly" not in fields["DeviceRequest"]
        assert fields["Device"].keys() == {"name", "basic"}
        assert "attributes" in types["io.k8s.api.resource.v1beta1.BasicDevice"]["properties"]
    current = _v3("resource.k8s.io/v1")["components"]["schemas"]
    assert current["io.k8s.api.resource.v1.DeviceRequest"]["properties"].keys() == {"name", "exactly", "firstAvailable"}


def test_kubectl_learns_that_patches_take_field_validation() -> None:
    operation = _v3("apps/v1")["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert {"fieldValidation", "dryRun", "force"} <= {parameter["name"] for parameter in operation["parameters"]}


def test_lists_say_how_they_are_merged() -> None:
    schemas = _v3("v1")["components"]["schemas"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    volumes = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["volumes"]
    assert volumes["x-kubernetes-patch-strategy"] == "merge,retainKeys"
    claim = schemas["io.k8s.api.core.v1.PersistentVolumeSpec"]["properties"]["claimRef"]
    assert claim["x-kubernetes-map-type"] == "granular"
    assert schemas["io.k8s.api.core.v1.NodeSelector"]["x-kubernetes-map-type"] == "atomic"


def test_scalars_are_what_clients_expect() -> None:
    schemas = _v3("v1")["components"]["schemas"]
    assert "oneOf" in schemas["io.k8s.apimachinery.pkg.api.resource.Quantity"]
    swagger = json.loads(openapi_v2(ALL))["definitions"]
    assert swagger["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]["format"] == "int-or-string"
    assert swagger["io.k8s.api.core.v1.Pod"]["properties"]["spec"]["$ref"].endswith("v1.PodSpec")
    assert swagger["io.k8s.api.core.v1.Container"]["required"] == ["name"]


def test_the_index_names_every_group_with_the_hash_of_its_document() -> None:
    paths = json.loads(openapi_v3_index(ALL))["paths"]
    assert "api/v1" in paths
    document = openapi_v3("apps/v1", ALL)
    assert document is not None
    expected = f"/openapi/v3/apis/apps/v1?hash={etag_of(document)}"
    assert paths["apis/apps/v1"]["serverRelativeURL"] == expected


def test_a_group_that_is_not_served_has_no_document() -> None:
    assert openapi_v3("example.com/v1", ALL) is None


def test_documents_are_made_once() -> None:
    assert openapi_v2_protobuf(ALL) is openapi_v2_protobuf((*ALL,))
    assert openapi_v3("v1", ALL) is openapi_v3("v1", ALL)


@pytest.mark.parametrize(
    ("type_name", "field", "word"),
    [
        ("Toleration", "expression", "CEL"),
        ("Toleration", "operator", "SemverGt"),
        ("PodAffinityTerm", "matchLabelKeys", "revision"),
        ("VolumeNodeAffinity", "required", "Semver"),
        ("EphemeralContainer", "image", "image"),
        ("Probe", "initialDelaySeconds", "initial delay seconds of the probe"),
        ("NodeSystemInfo", "systemUUID", "system UUID"),
    ],
)
def test_fields_are_described(type_name: str, field: str, word: str) -> None:
    assert word in describe_field(type_name, field)


def test_everything_in_the_tables_is_a_field_that_exists() -> None:
    swagger = json.loads(openapi_v2(ALL))["definitions"]
    fields: dict[str, set[str]] = {}
    for name, definition in swagger.items():
        fields.setdefault(name.rpartition(".")[2], set()).update(definition.get("properties", {}))
    fields["*"] = set().union(*fields.values())
    for type_name, field in TEXTS:
        assert not field or field in fields[type_name], (type_name, field)
    assert fields.keys() >= {type_name for type_name, _ in TEXTS}
    assert all(text or not field for (_, field), text in TEXTS.items())
    assert describe_type("Pod") != describe_type("Made up")
