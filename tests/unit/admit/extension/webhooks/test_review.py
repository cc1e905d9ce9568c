"""What webhooks are sent about a request."""

from typing import Any

from tests.unit.admit.extension.plain_world import WIDGETS, config_map, creation
from tests.unit.admit.extension.webhooks.webhook_world import WebhookWorld, validate

from moorage.admit.extension.attributes import Attributes, ObjectKind, ObjectResource, UserInfo
from moorage.admit.raw import Raw

_CONFIG_MAP = {"group": "", "version": "v1", "kind": "ConfigMap"}
_CONFIG_MAPS = {"group": "", "version": "v1", "resource": "configmaps"}
_ANYTHING = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}


def _sent(attributes: Attributes, **fields: Any) -> Raw:
    """Return the request in the review of the one webhook, which is called about anything."""
    world = WebhookWorld()
    world.put_validating("c", {"rules": [_ANYTHING], **fields})
    ((call,),) = validate(world, attributes, {"allowed": True}).calls
    assert {name: call.review[name] for name in ("kind", "apiVersion")} == {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
    }
    assert call.review["request"].pop("uid")
    request: Raw = call.review["request"]
    return request


def test_a_creation() -> None:
    user = UserInfo("alice", "7", ("a", "b"), {"k": ("v", "w")})
    options = {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions", "dryRun": ["All"]}
    assert _sent(creation(config_map(), user=user, dry_run=True, options=options)) == {
        "kind": _CONFIG_MAP,
        "resource": _CONFIG_MAPS,
        "requestKind": _CONFIG_MAP,
        "requestResource": _CONFIG_MAPS,
        "name": "c",
        "namespace": "team-a",
        "operation": "CREATE",
        "userInfo": {"username": "alice", "uid": "7", "groups": ["a", "b"], "extra": {"k": ["v", "w"]}},
        "object": config_map(),
        "oldObject": None,
        "dryRun": True,
        "options": options,
    }


def test_a_deletion_has_the_old_object_only() -> None:
    sent = _sent(creation(config_map(), operation="DELETE", object=None, old=config_map()))
    assert (sent["operation"], sent["object"], sent["oldObject"]) == ("DELETE", None, config_map())


def test_a_connection_is_about_a_subresource_and_has_no_options() -> None:
    options = {"apiVersion": "v1", "kind": "PodExecOptions", "command": ["ls"]}
    attributes = Attributes(
        "CONNECT",
        ObjectResource("", "v1", "pods"),
        ObjectKind("", "v1", "PodExecOptions"),
        namespace="team-a",
        name="p",
        subresource="exec",
        object=options,
    )
    sent = _sent(attributes)
    assert (sent["subResource"], sent["requestSubResource"], sent["object"]) == ("exec", "exec", options)
    assert (sent["options"], sent["userInfo"]) == (None, {})


def test_a_request_without_name_and_namespace_has_neither() -> None:
    sent = _sent(creation({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "c-"}}))
    assert "name" not in sent
    assert "namespace" not in sent


def test_the_version_of_the_rules_is_sent_and_the_one_of_the_request_is_named() -> None:
    widget = {"apiVersion": f"{WIDGETS}/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "team-a"}}
    attributes = creation(
        widget, resource=ObjectResource(WIDGETS, "v1", "widgets"), kind=ObjectKind(WIDGETS, "v1", "Widget")
    )
    rule = {"operations": ["*"], "apiGroups": [WIDGETS], "apiVersions": ["v1beta1"], "resources": ["widgets"]}
    sent = _sent(attributes, rules=[rule])
    assert (sent["kind"]["version"], sent["resource"]["version"]) == ("v1beta1", "v1beta1")
    assert (sent["requestKind"]["version"], sent["requestResource"]["version"]) == ("v1", "v1")
    assert sent["object"] == {**widget, "apiVersion": f"{WIDGETS}/v1beta1"}


def test_every_call_has_a_uid_of_its_own_and_the_timeout_of_its_webhook() -> None:
    world = WebhookWorld()
    world.put_validating("c", {"timeoutSeconds": 3}, {})
    ((first, second),) = validate(world, creation(config_map()), {"allowed": True}).calls
    assert first.review["request"]["uid"] != second.review["request"]["uid"]
    assert (first.timeout_seconds, second.timeout_seconds) == (3.0, 10.0)
    assert first.client.url == "https://127.0.0.1:9443/w0"
