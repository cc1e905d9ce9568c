"""Requests whose answers were recorded from kube-apiserver v1.36.4: routes, bodies that cannot be read, reviews."""

import json
from typing import Any

import pytest
from tests.conformance.checks.platform.server import PlatformServer

from moorage.model.types.policy import PolicyRule
from moorage.serve.access.reviews import written_rule

Raw = dict[str, Any]

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_WIDGETS = "/apis/ex.com/v1/namespaces/default/widgets"
_MAPS, _ROLES = "/api/v1/namespaces/default/configmaps", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
_SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
_PARTS = {"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}}
_DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.ex.com"},
    "spec": {
        "group": "ex.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": _SCHEMA, "subresources": _PARTS}],
    },
}
_WIDGET = '{"apiVersion": "ex.com/v1", "kind": "Widget", "metadata": {"name": "w"}}'
_BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
_BUDGET = '{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}'


async def _server() -> PlatformServer:
    server = await PlatformServer.started("default")
    for path, body in ((_CRDS, json.dumps(_DEFINITION)), (_WIDGETS, _WIDGET), (_BUDGETS, _BUDGET)):
        assert (await server.ask("POST", path, body.encode())).code == 201
    return server


def _unsupported(verb: str) -> str:
    return f'{verb} is not supported on resources of kind "widgets.ex.com"'


_NOT_ALLOWED, _NO_PATH = "the server does not allow this method on the requested resource", "the server could not find"
_REVISION = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
_NAMELESS = "name must be provided"


@pytest.mark.parametrize(
    ("method", "path", "body", "code", "message"),
    [
        ("POST", f"{_WIDGETS}/w/status", _WIDGET, 405, _unsupported("create")),
        ("POST", f"{_WIDGETS}/w/scale", _WIDGET, 405, _unsupported("create")),
        ("DELETE", f"{_WIDGETS}/w/status", "", 405, _unsupported("delete")),
        ("DELETE", f"{_WIDGETS}//status", "", 405, _unsupported("deletecollection")),
        ("GET", f"{_WIDGETS}//status", "", 405, _unsupported("list")),
        ("OPTIONS", f"{_WIDGETS}/w", "", 405, _unsupported("")),
        ("POST", f"{_WIDGETS}/w/status/x", _WIDGET, 405, _unsupported("create")),
        ("POST", f"{_WIDGETS}/w", _WIDGET, 409, 'widgets.ex.com "w" already exists'),
        ("PUT", _WIDGETS, _WIDGET, 400, _NAMELESS),
        ("PATCH", f"{_WIDGETS}/", "{}", 400, _NAMELESS),
        ("PATCH", f"{_WIDGETS}//status", "{}", 400, _NAMELESS),
        ("GET", f"{_WIDGETS}/w/nothing", "", 404, 'widgets.ex.com "w" not found'),
        ("POST", "/apis/ex.com/v1/widgets", _WIDGET, 404, _NO_PATH),
        ("DELETE", "/apis/ex.com/v1/widgets", "", 404, _NO_PATH),
        ("PUT", f"{_WIDGETS}/w/status", _WIDGET, 422, f'widgets.ex.com "w" is invalid: {_REVISION}'),
        ("PUT", f"{_BUDGETS}/b/status", _BUDGET, 422, f'poddisruptionbudgets.policy "b" is invalid: {_REVISION}'),
        ("POST", "/apis/nope", "{}", 404, _NO_PATH),
        ("POST", "/apis/apps", "{}", 405, _NOT_ALLOWED),
        ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews/x", "{}", 404, _NO_PATH),
        ("GET", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "", 405, _NOT_ALLOWED),
        ("GET", "/api/v1/namespaces/default/pods//status", "", 404, _NO_PATH),
        ("GET", f"{_MAPS}/.", "", 400, "Name parameter invalid: \".\": may not be '.'"),
        ("DELETE", f"{_MAPS}/..", "", 400, "Name parameter invalid: \"..\": may not be '..'"),
        ("PATCH", "/api/v1/nodes/a%25b", "{}", 400, "Name parameter invalid: \"a%b\": may not contain '%'"),
        ("PUT", f"{_MAPS}/.", "{}", 400, "the name of the object (. based on URL) was undeterminable: name must be"),
        ("GET", "/api/v1/componentstatuses/etcd-9", "", 404, 'componentstatus "etcd-9" not found'),
        (
            "GET",
            f"{_MAPS}?resourceVersion=x",
            "",
            400,
            'invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid',
        ),
        ("GET", f"{_MAPS}?resourceVersion=x&watch=1", "", 400, 'resourceVersion: Invalid value: "x": strconv'),
    ],
)
async def test_routes(method: str, path: str, body: str, code: int, message: str) -> None:
    server = await _server()
    content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
    answer = await server.ask(method, path, body.encode(), content_type=content_type)
    assert answer.code == code
    assert answer.document["message"].startswith(message)


_ODD_SPACES = '{"apiVersion":"ex.com/v1",   "metadata" : {"name":"x"} }'
_YAML = "apiVersion: ex.com/v1\nmetadata:\n  name:   x\n"


@pytest.mark.parametrize(
    ("body", "content_type", "validation", "message"),
    [
        (
            _ODD_SPACES,
            "application/json",
            "Warn",
            "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in "
            f"'{_ODD_SPACES}' ({_ODD_SPACES[:30]} ...)",
        ),
        (
            _ODD_SPACES,
            "application/json",
            "Ignore",
            f"Widget in version \"v1\" cannot be handled as a Widget: Object 'Kind' is missing in '{_ODD_SPACES}'",
        ),
        (
            _YAML,
            "application/yaml",
            "Ignore",
            f"Widget in version \"v1\" cannot be handled as a Widget: Object 'Kind' is missing in '{_YAML}'",
        ),
    ],
)
async def test_a_custom_object_without_kind_is_shown_as_it_was_sent(
    body: str, content_type: str, validation: str, message: str
) -> None:
    answer = await (await _server()).ask(
        "POST", _WIDGETS, body.encode(), content_type=content_type, query={"fieldValidation": validation}
    )
    assert (answer.code, answer.document["message"]) == (400, message)


async def test_a_list_of_custom_objects_says_that_nothing_follows() -> None:
    answer = await (await _server()).ask("GET", _WIDGETS)
    assert answer.document["metadata"]["continue"] == ""
    assert "continue" not in (await (await _server()).ask("GET", _MAPS)).document["metadata"]


_MISREAD = "json: cannot unmarshal"


@pytest.mark.parametrize(
    ("path", "document", "problem"),
    [
        (_MAPS, {"metadata": "x"}, f"{_MISREAD} string into Go struct field ConfigMap.metadata of type v1.ObjectMeta"),
        (_MAPS, {"metadata": [], "odd": 1}, f"{_MISREAD} array into Go struct field ConfigMap.metadata of type v1.Ob"),
        (_MAPS, {"metadata": {"namespace": 7}}, f"{_MISREAD} number into Go struct field ObjectMeta.metadata.namespac"),
        (_MAPS, {"metadata": {"name": []}}, f"{_MISREAD} array into Go struct field ObjectMeta.metadata.name of type"),
        (_MAPS, {"data": {"a": 1}, "odd": 1}, f"{_MISREAD} number into Go struct field ConfigMap.data of type string"),
        (_ROLES, {"rules": [" ", " "]}, f"{_MISREAD} string into Go struct field Role.rules of type v1.PolicyRule"),
        (_ROLES, {"rules": [1], "x": {}}, f"{_MISREAD} number into Go struct field Role.rules of type v1.PolicyRule"),
    ],
)
@pytest.mark.parametrize("validation", ["Warn", "Strict"])
async def test_the_first_field_of_a_wrong_type_is_all_that_is_said(
    path: str, document: Raw, problem: str, validation: str
) -> None:
    server = await PlatformServer.started("default")
    query = {"dryRun": "All", "fieldValidation": validation}
    answer = await server.ask("POST", path, json.dumps(document).encode(), query=query)
    kind = "ConfigMap" if path == _MAPS else "Role"
    assert (answer.code, answer.warnings) == (400, [])
    start = f'{kind} in version "v1" cannot be handled as a {kind}: {problem}'
    assert answer.document["message"].startswith(start)
    assert ";" not in answer.document["message"]


async def test_unknown_fields_of_a_deprecated_kind_are_named_after_its_deprecation() -> None:
    server = await PlatformServer.started("default")
    body = json.dumps({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"odd": "x"}}).encode()
    answer = await server.ask("POST", "/api/v1/namespaces/default/endpoints", body)
    assert answer.code == 422
    assert [warning.partition(" is ")[0] for warning in answer.warnings] == [
        "v1 Endpoints",
        'unknown field "metadata.odd"',
    ]


_REVIEWS = "/apis/authorization.k8s.io/v1"
_ATTRIBUTES = "spec.resourceAttributes"


def _review(kind: str, **attributes: Any) -> Raw:
    asked = {"verb": "list", "resource": "pods", "namespace": "default", **attributes}
    user = {} if kind.startswith("Self") else {"user": "u"}
    return {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": {**user, "resourceAttributes": asked}}


@pytest.mark.parametrize(
    ("selector", "error"),
    [
        ({"fieldSelector": {"rawSelector": "a in (b"}}, "fieldSelector ignored"),
        ({"fieldSelector": {"rawSelector": "a=\\b"}}, "fieldSelector ignored"),
        ({"fieldSelector": {"rawSelector": "spec.nodeName=a\\,b"}}, ""),
        ({"labelSelector": {"rawSelector": "a in (b"}}, "labelSelector ignored"),
        (
            {
                "fieldSelector": {
                    "requirements": [
                        {"key": "a", "operator": "In", "values": ["b"]},
                        {"key": "a", "operator": "In", "values": ["b", "c"]},
                    ]
                }
            },
            "fieldSelector partially ignored",
        ),
        ({"fieldSelector": {"requirements": [{"key": "a", "operator": "New"}]}}, "fieldSelector ignored"),
    ],
)
@pytest.mark.parametrize("kind", ["SubjectAccessReview", "SelfSubjectAccessReview"])
async def test_a_selector_that_cannot_be_read_is_an_evaluation_error_beside_the_spec(
    kind: str, selector: Raw, error: str
) -> None:
    server = await PlatformServer.started("default")
    review = _review(kind, **selector)
    body = json.dumps({**review, "spec": {**review["spec"], "odd": 1}}).encode()
    answer = await server.ask("POST", f"{_REVIEWS}/{kind.lower()}s", body)
    wanted = f"{_ATTRIBUTES}.{error} due to parse error" if error else ""
    assert (answer.code, answer.warnings) == (201, ['unknown field "spec.odd"'])
    assert answer.document["spec"] == review["spec"]
    assert answer.document["status"].get("evaluationError", "") == wanted


@pytest.mark.parametrize(
    ("selector", "fields"),
    [
        ({"labelSelector": {"requirements": [{"key": "a", "operator": "In", "values": ["b c"]}]}}, ["values[0]"]),
        (
            {"labelSelector": {"requirements": [{"key": "a b", "operator": "In", "values": ["%"]}]}},
            ["key", "values[0]"],
        ),
        ({"fieldSelector": {"requirements": [{"operator": "In"}]}}, ["key", "values"]),
    ],
)
async def test_selectors_that_are_refused(selector: Raw, fields: list[str]) -> None:
    server = await PlatformServer.started("default")
    body = json.dumps(_review("SubjectAccessReview", **selector)).encode()
    answer = await server.ask("POST", f"{_REVIEWS}/subjectaccessreviews", body)
    (name,) = selector
    assert answer.code == 422
    causes = [cause["field"] for cause in answer.document["details"]["causes"]]
    assert causes == [f"{_ATTRIBUTES}.{name}.requirements[0].{field}" for field in fields]


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("subjectaccessreviews", {"kind": "Foo"}, 'Foo in version "v1" cannot be handled as a SubjectAccessReview'),
        ("subjectaccessreviews", {"spec": 1}, 'SubjectAccessReview in version "v1" cannot be handled as a SubjectAcce'),
        ("selfsubjectaccessreviews", {"spec": {"resourceAttributes": []}}, 'SelfSubjectAccessReview in version "v1" c'),
    ],
)
async def test_reviews_that_cannot_be_read(path: str, body: Raw, message: str) -> None:
    server = await PlatformServer.started("default")
    answer = await server.ask("POST", f"{_REVIEWS}/{path}", json.dumps(body).encode())
    assert answer.code == 400
    assert answer.document["message"].startswith(message)


@pytest.mark.parametrize(
    ("rule", "written"),
    [
        (PolicyRule(resources=("pods",)), {"verbs": None, "resources": ["pods"]}),
        (PolicyRule(verbs=(), resources=("pods",)), {"verbs": [], "resources": ["pods"]}),
        (PolicyRule(verbs=("get",), apiGroups=("",)), {"verbs": ["get"], "apiGroups": [""]}),
    ],
)
def test_the_verbs_of_a_rule_are_always_written(rule: PolicyRule, written: Raw) -> None:
    assert written_rule(rule, ("apiGroups", "resources", "resourceNames")) == written


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "Name parameter required."), (".", "Name parameter invalid: \".\": may not be '.'")],
)
@pytest.mark.parametrize("kind", ["Pod", "Secret", "Node"])
async def test_a_token_is_not_bound_to_an_object_without_a_name(kind: str, name: str, message: str) -> None:
    server = await PlatformServer.started("default")
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bot"}}
    assert (await server.post(account)).code == 201
    spec = {"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name}}
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    path = "/api/v1/namespaces/default/serviceaccounts/bot/token"
    answer = await server.ask("POST", path, json.dumps(body).encode())
    assert (answer.code, answer.document["message"]) == (400, message)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/apis/resource.k8s.io/v1/deviceclasses", "DeviceClass"),
        ("/api/v1/namespaces/default/replicationcontrollers", "ReplicationController"),
    ],
)
async def test_names_that_are_validated_declaratively_are_counted_in_bytes(path: str, kind: str) -> None:
    server = await PlatformServer.started("default")
    answer = await server.ask("POST", path, json.dumps({"kind": kind, "metadata": {"name": "a" * 254}}).encode())
    messages = [cause["message"] for cause in answer.document["details"]["causes"]]
    assert messages[0].endswith(": must be no more than 253 bytes")


@pytest.mark.parametrize(
    ("path", "document", "warning"),
    [
        (
            "/api/v1/namespaces/default/secrets",
            {"type": "kubernetes.io/tls", "stringData": {"tls.crt": "x", "tls.key": "y"}},
            "tls: failed to find any PEM data in certificate input",
        ),
        (
            "/api/v1/namespaces/default/serviceaccounts",
            {"metadata": {"name": "x", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}},
            "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate "
            "namespaces to isolate access to mounted secrets",
        ),
    ],
)
async def test_warnings(path: str, document: Raw, warning: str) -> None:
    server = await PlatformServer.started("default")
    body = json.dumps({"metadata": {"name": "x"}, **document}).encode()
    assert [(await server.ask("POST", path, body)).warnings] == [[warning]]
    again = await server.ask("PUT", f"{path}/x", body)
    assert again.warnings == ([warning] if "tls" in warning else [])


async def test_flow_schemas_are_listed_as_they_are_tried() -> None:
    server = await PlatformServer.started()
    path = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
    for name, precedence in (("a", 30), ("b", 10), ("d", 20), ("c", 20)):
        spec = {"matchingPrecedence": precedence, "priorityLevelConfiguration": {"name": "exempt"}}
        body = json.dumps({"metadata": {"name": name}, "spec": spec}).encode()
        assert (await server.ask("POST", path, body)).code == 201
    table = await server.ask("GET", path, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert [row["cells"][0] for row in table.document["rows"]] == ["b", "c", "d", "a"]
    listed = await server.ask("GET", path)
    assert [item["metadata"]["name"] for item in listed.document["items"]] == ["a", "b", "c", "d"]


async def test_version_and_addresses() -> None:
    server = await PlatformServer.started()
    version = (await server.ask("GET", "/version")).document
    names = ("emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor")
    assert [version[name] for name in names] == ["1", "36", "1", "35"]


async def test_a_version_is_read_with_the_defaults_of_the_stored_one_and_the_fields_of_both() -> None:
    def version(name: str, is_stored: bool, **fields: Raw) -> Raw:
        spec = {"type": "object", "properties": fields}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
        return {"name": name, "served": True, "storage": is_stored, "schema": schema}

    text, defaulted = {"type": "string"}, {"type": "string", "default": "d"}
    versions = [version("v1", True, both=text, old=defaulted), version("v2", False, both=text, new=defaulted)]
    server = await PlatformServer.started("default")
    definition = {**_DEFINITION, "spec": {**_DEFINITION["spec"], "versions": versions}}  # type: ignore[dict-item]
    assert (await server.ask("POST", _CRDS, json.dumps(definition).encode())).code == 201
    newer = _WIDGETS.replace("v1", "v2")
    spec = {"both": "b", "old": "o", "new": "n"}
    for path, name in ((_WIDGETS, "one"), (newer, "two")):
        document = {
            "apiVersion": path[6:15],
            "kind": "Widget",
            "metadata": {"name": name},
            "spec": spec if name == "two" else {"both": "b"},
        }
        assert (await server.ask("POST", path, json.dumps(document).encode())).code == 201
    for name in ("one", "two"):
        answers = [(await server.ask("GET", f"{path}/{name}")).document["spec"] for path in (_WIDGETS, newer)]
        assert answers == [{"both": "b", "old": "d"}, {"both": "b"}]
    listed = await server.ask("GET", newer)
    assert [item["spec"] for item in listed.document["items"]] == [{"both": "b"}] * 2
