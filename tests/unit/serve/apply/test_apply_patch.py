"""Server-side apply: merging, taking, sharing, letting go, and refusing."""

from typing import Any

import pytest
from tests.unit.serve.apply.cases import T1, T2, T3, Raw, applied, body, created, deployment, owned, pod, updated

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.serve.apply.managed_fields import ApplyConflict, apply_patch

TEMPLATE: Raw = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
SPEC: Raw = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}


def node(**fields: Any) -> Raw:
    return {"apiVersion": "v1", "kind": "Node", **fields, "metadata": {"name": "n", **fields.get("metadata", {})}}


def test_an_object_may_be_created_by_applying_it() -> None:
    patch = deployment(SPEC, labels={"a": "b"})
    after = applied(None, patch, KINDS.DEPLOYMENT, "kubectl", time=T1)
    assert body(after) == patch
    assert after["metadata"]["managedFields"] == [
        {
            "manager": "kubectl",
            "operation": "Apply",
            "apiVersion": "apps/v1",
            "time": T1,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {"f:a": {}}},
                "f:spec": {
                    "f:replicas": {},
                    "f:selector": {},
                    "f:template": {
                        "f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}, "f:name": {}}}}
                    },
                },
            },
        }
    ]


def test_applying_the_same_again_changes_nothing() -> None:
    live = applied(None, deployment(SPEC), KINDS.DEPLOYMENT, "me", time=T1)
    assert applied(live, deployment(SPEC), KINDS.DEPLOYMENT, "me", time=T3) is live


def test_a_value_that_somebody_else_owns_is_a_conflict() -> None:
    live = created(deployment(SPEC), KINDS.DEPLOYMENT, "kubectl-client-side-apply")
    with pytest.raises(ApplyConflict) as refusal:
        applied(live, deployment({"replicas": 3}), KINDS.DEPLOYMENT, "me")
    assert refusal.value.status == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": (
            'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas'
        ),
        "reason": "Conflict",
        "details": {
            "causes": [
                {
                    "reason": "FieldManagerConflict",
                    "message": 'conflict with "kubectl-client-side-apply" using apps/v1',
                    "field": ".spec.replicas",
                }
            ]
        },
        "code": 409,
    }


def test_apply_conflicts_are_grouped_by_owner() -> None:
    live = applied(None, deployment({"replicas": 1}), KINDS.DEPLOYMENT, "applier")
    live = updated(live, KINDS.DEPLOYMENT, "updater", {"spec": SPEC})
    changed = {"spec": {"containers": [{"name": "c", "image": "j"}]}}
    patch = deployment({"replicas": 2, "selector": {"matchLabels": {"x": "y"}}, "template": changed})
    with pytest.raises(ApplyConflict) as refusal:
        applied(live, patch, KINDS.DEPLOYMENT, "me")
    assert refusal.value.message == (
        'Apply failed with 3 conflicts: conflicts with "applier":\n- .spec.replicas\n'
        'conflicts with "updater" using apps/v1:\n- .spec.selector\n'
        '- .spec.template.spec.containers[name="c"].image'
    )


def test_conflicts_with_a_subresource_say_so() -> None:
    live = created(node(spec={"unschedulable": True}), KINDS.NODE)
    live = updated(live, KINDS.NODE, "kubelet", {"status": {"capacity": {"cpu": "1"}}}, "status")
    with pytest.raises(ApplyConflict) as refusal:
        apply_patch(live, node(status={"capacity": {"cpu": "2"}}), KINDS.NODE, "me", False, "status", T2)
    assert refusal.value.message == (
        'Apply failed with 1 conflict: conflict with "kubelet" with subresource "status" using v1: .status.capacity.cpu'
    )


def test_who_insists_takes_the_field() -> None:
    live = created(deployment(SPEC), KINDS.DEPLOYMENT)
    after = applied(live, deployment({"replicas": 3}), KINDS.DEPLOYMENT, "me", force=True)
    assert after["spec"] == {**SPEC, "replicas": 3}
    assert owned(after)[("me", "Apply")] == {"f:spec": {"f:replicas": {}}}
    assert "f:replicas" not in owned(after)[("creator", "Update")]["f:spec"]


def test_the_same_value_is_shared() -> None:
    live = created(deployment(SPEC), KINDS.DEPLOYMENT)
    after = applied(live, deployment({"replicas": 1}), KINDS.DEPLOYMENT, "me")
    assert body(after) == body(live)
    assert owned(after) == {**owned(live), ("me", "Apply"): {"f:spec": {"f:replicas": {}}}}
    assert "time" not in after["metadata"]["managedFields"][0]  # nothing was written at any time
    left = applied(after, deployment({"paused": True}), KINDS.DEPLOYMENT, "me")
    assert left["spec"] == {**SPEC, "paused": True}


def test_what_is_no_longer_applied_is_removed() -> None:
    live = applied(None, deployment(SPEC, labels={"a": "1", "b": "2"}), KINDS.DEPLOYMENT, "me")
    after = applied(live, deployment({"replicas": 1}, labels={"b": "2"}), KINDS.DEPLOYMENT, "me")
    assert body(after) == deployment({"replicas": 1}, labels={"b": "2"})
    assert owned(after)[("me", "Apply")] == {"f:metadata": {"f:labels": {"f:b": {}}}, "f:spec": {"f:replicas": {}}}


def test_what_somebody_else_put_inside_keeps_the_levels_above() -> None:
    live = applied(None, deployment(SPEC, labels={"a": "1"}), KINDS.DEPLOYMENT, "me")
    live = updated(live, KINDS.DEPLOYMENT, "other", {"metadata": {"labels": {"a": "1", "b": "2"}}})
    after = applied(live, deployment(SPEC), KINDS.DEPLOYMENT, "me")
    assert after["metadata"]["labels"] == {"b": "2"}


def test_an_element_goes_with_its_last_owner() -> None:
    two = pod(containers=[{"name": "a", "image": "x"}, {"name": "b", "image": "y"}])
    live = applied(None, two, KINDS.POD, "me")
    live = applied(live, pod(containers=[{"name": "b", "command": ["z"]}]), KINDS.POD, "other")
    after = applied(live, pod(containers=[{"name": "a", "image": "x"}]), KINDS.POD, "me")
    assert after["spec"]["containers"] == [{"name": "a", "image": "x"}, {"name": "b", "command": ["z"]}]


def test_elements_come_in_the_order_of_the_applier() -> None:
    live = created(pod(containers=[{"name": name} for name in ("a", "b", "c", "d")]), KINDS.POD)
    after = applied(live, pod(containers=[{"name": name} for name in ("d", "new", "a")]), KINDS.POD, "me")
    assert [container["name"] for container in after["spec"]["containers"]] == ["b", "c", "d", "new", "a"]


def test_sets_are_joined_and_atomic_lists_replaced() -> None:
    live = created(
        node(metadata={"finalizers": ["a"]}, spec={"taints": [{"key": "a", "effect": "NoSchedule"}]}), KINDS.NODE
    )
    taints = [{"key": "b", "effect": "NoSchedule"}]
    after = applied(live, node(metadata={"finalizers": ["b"]}, spec={"taints": taints}), KINDS.NODE, "me", force=True)
    assert after["metadata"]["finalizers"] == ["a", "b"]
    assert after["spec"]["taints"] == taints


def test_fields_that_go_always_writes_are_no_conflict() -> None:
    live = created(pod(), KINDS.POD)
    assert "f:resources" in owned(live)[("creator", "Update")]["f:spec"]["f:containers"]['k:{"name":"c"}']
    after = applied(live, pod(containers=[{"name": "c", "resources": {"limits": {"cpu": "1"}}}]), KINDS.POD, "me")
    assert after["spec"]["containers"] == [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}]
    assert "status" not in after


def test_null_asks_for_the_default_and_conflicts_like_a_value() -> None:
    live = applied(None, deployment(SPEC), KINDS.DEPLOYMENT, "me")
    with pytest.raises(ApplyConflict):
        applied(live, deployment({"replicas": None}), KINDS.DEPLOYMENT, "other")
    after = applied(live, deployment({"replicas": None}), KINDS.DEPLOYMENT, "other", force=True)
    assert "replicas" not in after["spec"]


def test_what_was_there_before_the_first_apply_has_an_owner_then() -> None:
    live = deployment(SPEC, uid="u")
    after = applied(live, deployment({"paused": True}), KINDS.DEPLOYMENT, "me")
    assert list(owned(after)) == [("me", "Apply"), ("before-first-apply", "Update")]
    with pytest.raises(ApplyConflict, match="before-first-apply"):
        applied(live, deployment({"replicas": 9}), KINDS.DEPLOYMENT, "me")


def test_the_status_is_not_applied_to_through_the_object() -> None:
    live = created(node(spec={"unschedulable": True}), KINDS.NODE)
    after = applied(live, node(spec={"unschedulable": True}, status={"phase": "x"}), KINDS.NODE, "me")
    assert owned(after)[("me", "Apply")] == {"f:spec": {"f:unschedulable": {}}}


def test_who_lets_go_of_everything_is_forgotten() -> None:
    live = created(deployment(SPEC), KINDS.DEPLOYMENT)
    after = applied(live, deployment({"paused": True}), KINDS.DEPLOYMENT, "me")
    nothing = {name: value for name, value in deployment({}).items() if name != "spec"}
    assert applied(after, nothing, KINDS.DEPLOYMENT, "me") == live


def test_old_elements_of_one_name_do_not_stand_in_the_way() -> None:
    live = created(pod(containers=[{"name": "c", "image": "i"}, {"name": "c", "image": "j"}]), KINDS.POD)
    after = applied(live, pod(nodeName="n"), KINDS.POD, "me", force=True)
    assert after["spec"]["containers"] == [{"name": "c", "image": "i"}]


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"apiVersion": "v1", "kind": "Deployment"}, "invalid object type: /v1, Kind=Deployment"),
        ({}, "invalid object type: /, Kind="),
        (deployment({}, managedFields=[]), "metadata.managedFields must be nil"),
        (
            deployment({"foo": 1}),
            "failed to create typed patch object (default/d; apps/v1, Kind=Deployment): "
            ".spec.foo: field not declared in schema",
        ),
        (
            deployment({"template": {"spec": {"containers": [{"name": "c"}, {"name": "c"}]}}}),
            "failed to create typed patch object (default/d; apps/v1, Kind=Deployment): "
            '.spec.template.spec.containers: duplicate entries for key [name="c"]',
        ),
        (
            deployment({"replicas": "1", "paused": 1, "selector": "x", "template": {"spec": {"containers": {}}}}),
            "failed to create typed patch object (default/d; apps/v1, Kind=Deployment): errors:\n"
            "  .spec.paused: expected boolean, got &{1}\n"
            "  .spec.replicas: expected numeric (int or float), got string\n"
            "  .spec.selector: expected map, got &{x}\n"
            "  .spec.template.spec.containers: expected list, got &{map[]}",
        ),
        (
            deployment({"template": {"spec": {"containers": [None]}}}, finalizers=["a", None]),
            "failed to create typed patch object (default/d; apps/v1, Kind=Deployment): errors:\n"
            "  .metadata.finalizers: element 1: associative list without keys has an element that's an explicit null\n"
            "  .spec.template.spec.containers: element 0: associative list with keys may not have a null element",
        ),
        (
            {**deployment({}), "metadata": []},
            "failed to create typed patch object (/; apps/v1, Kind=Deployment): .metadata: expected map, got &{[]}",
        ),
    ],
)
def test_what_does_not_fit_is_refused(patch: Raw, message: str) -> None:
    with pytest.raises(ApiError) as refusal:
        applied(None, patch, KINDS.DEPLOYMENT, "me")
    assert (refusal.value.code, refusal.value.message) == (400, message)


@pytest.mark.parametrize(
    ("image", "shown"),
    [
        (5, "5"),
        (True, "true"),
        (1.5, "1.5"),
        ({"a": "b", "c": [1, None]}, 'map[string]interface {}{"a":"b", "c":[]interface {}{1, interface {}(nil)}}'),
    ],
)
def test_a_value_that_is_not_text_is_shown_as_go_shows_it(image: Any, shown: str) -> None:
    with pytest.raises(ApiError) as refusal:
        applied(None, pod(containers=[{"name": "c", "image": image}]), KINDS.POD, "me")
    assert refusal.value.message == (
        "failed to create typed patch object (default/p; /v1, Kind=Pod): "
        f'.spec.containers[name="c"].image: expected string, got &value.valueUnstructured{{Value:{shown}}}'
    )


@pytest.mark.parametrize(
    ("replicas", "shown"), [(True, "bool"), ({}, "map[string]interface {}"), ([], "[]interface {}"), ("1", "string")]
)
def test_numbers_that_are_none_are_shown_by_type(replicas: Any, shown: str) -> None:
    with pytest.raises(ApiError, match=r"expected numeric \(int or float\), got ") as refusal:
        applied(None, deployment({"replicas": replicas}), KINDS.DEPLOYMENT, "me")
    assert refusal.value.message.endswith(f"got {shown}")


def test_elements_of_sets_are_plain_values() -> None:
    for item, why in (
        ({}, "associative list without keys has an element that's a map type"),
        ([], "not supported: associative list with lists as elements"),
    ):
        with pytest.raises(ApiError) as refusal:
            applied(None, node(metadata={"finalizers": [item]}), KINDS.NODE, "me")
        assert refusal.value.message.endswith(f".metadata.finalizers: element 0: {why}")


def test_an_element_that_does_not_name_its_key_is_the_one_without() -> None:
    after = applied(None, pod(containers=[{"image": "i"}]), KINDS.POD, "me")
    assert owned(after) == {("me", "Apply"): {"f:spec": {"f:containers": {'k:{"name":""}': {".": {}, "f:image": {}}}}}}


def test_an_element_may_have_to_name_its_key() -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}, "secrets": [{"kind": "Secret"}]}
    with pytest.raises(ApiError) as refusal:
        applied(None, account, KINDS.SERVICE_ACCOUNT, "me")
    assert refusal.value.message == (
        "failed to create typed patch object (/a; /v1, Kind=ServiceAccount): .secrets: element 0: "
        'associative list with keys has an element that omits all key fields ["name"] '
        "(and doesn't have default values for any key fields)"
    )


def test_what_is_stored_may_be_beyond_applying_to() -> None:
    live = created(pod(containers=["c"]), KINDS.POD)
    with pytest.raises(ApiError) as refusal:
        applied(live, pod(), KINDS.POD, "me")
    assert refusal.value.message == (
        "failed to create typed live object (default/p; /v1, Kind=Pod): "
        "associative list with keys may not have non-map elements"
    )


def test_elements_of_one_name_survive_what_the_applier_lets_go_of() -> None:
    double = [{"name": "c", "image": "i"}, {"name": "c", "image": "j"}]
    live = applied(None, pod(nodeName="n"), KINDS.POD, "me")
    live = updated(live, KINDS.POD, "doubler", {"spec": {"containers": double, "nodeName": "n"}})
    bare = {name: value for name, value in pod().items() if name != "spec"}
    assert applied(live, bare, KINDS.POD, "me")["spec"] == {"containers": double}


def test_amounts_may_be_numbers() -> None:
    patch = pod(containers=[{"name": "c", "resources": {"limits": {"cpu": 1}}}])
    assert applied(None, patch, KINDS.POD, "me")["spec"] == patch["spec"]
