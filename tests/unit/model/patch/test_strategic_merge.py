"""Strategic merge patches: lists by key, directives, order, and the words for what is wrong."""

from typing import Any

import pytest

from moorage.model.kinds import KINDS
from moorage.model.patch.patch_error import PatchError, refusal
from moorage.model.patch.strategic_merge import apply_strategic_merge
from moorage.model.schema.merge_schema import schema_of

Raw = dict[str, Any]

POD = schema_of(KINDS.POD)
NODE = schema_of(KINDS.NODE)
DEPLOYMENT = schema_of(KINDS.DEPLOYMENT)
BUDGET = schema_of(KINDS.POD_DISRUPTION_BUDGET)


def _containers(*names: str) -> Raw:
    return {"spec": {"containers": [{"name": name, "image": "i"} for name in names]}}


def _names(document: Raw, field: str = "containers") -> list[str]:
    return [item["name"] for item in document["spec"][field]]


def test_elements_are_merged_by_their_key() -> None:
    document = _containers("a", "b")
    merged = apply_strategic_merge(document, {"spec": {"containers": [{"name": "b", "image": "j", "tty": True}]}}, POD)
    assert merged["spec"]["containers"] == [{"name": "a", "image": "i"}, {"name": "b", "image": "j", "tty": True}]
    assert merged["spec"]["containers"][0] is document["spec"]["containers"][0]
    assert document == _containers("a", "b")


def test_new_elements_come_first_unless_the_order_is_given() -> None:
    patch: Raw = {"spec": {"containers": [{"name": "c"}]}}
    assert _names(apply_strategic_merge(_containers("a", "b"), patch, POD)) == ["c", "a", "b"]
    patch["spec"]["$setElementOrder/containers"] = [{"name": "a"}, {"name": "c"}, {"name": "b"}]
    assert _names(apply_strategic_merge(_containers("a", "b"), patch, POD)) == ["a", "c", "b"]


def test_order_alone_can_be_changed_and_what_only_the_server_knows_stays_in_place() -> None:
    patch: Raw = {"spec": {"$setElementOrder/containers": [{"name": "d"}, {"name": "a"}]}}
    assert _names(apply_strategic_merge(_containers("a", "b", "c", "d"), patch, POD)) == ["b", "c", "d", "a"]


def test_a_new_element_takes_the_place_that_a_deleted_one_left_at_the_end() -> None:
    patch: Raw = {
        "spec": {
            "containers": [{"name": "a", "$patch": "delete"}, {"name": "x"}],
            "$setElementOrder/containers": [{"name": "x"}, {"name": "c"}],
        }
    }
    assert _names(apply_strategic_merge(_containers("a", "b", "c"), patch, POD)) == ["b", "x", "c"]


def test_elements_can_be_deleted_and_lists_replaced() -> None:
    delete: Raw = {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}}
    assert _names(apply_strategic_merge(_containers("a", "b"), delete, POD)) == ["b"]
    replace: Raw = {"spec": {"containers": [{"name": "z"}, {"$patch": "replace"}]}}
    assert _names(apply_strategic_merge(_containers("a", "b"), replace, POD)) == ["z"]


def test_objects_can_be_deleted_and_replaced() -> None:
    document: Raw = {"metadata": {"labels": {"a": "1"}, "name": "x"}}
    replace = {"metadata": {"labels": {"b": "2", "$patch": "replace"}}}
    assert apply_strategic_merge(document, replace, POD)["metadata"]["labels"] == {"b": "2"}
    delete: Raw = {"metadata": {"labels": {"$patch": "delete"}}}
    assert apply_strategic_merge(document, delete, POD)["metadata"] == {"labels": {}, "name": "x"}


def test_null_removes_and_is_not_kept_in_what_is_new() -> None:
    document: Raw = {"spec": {"nodeName": "n"}}
    patch: Raw = {"spec": {"nodeName": None, "affinity": {"nodeAffinity": None, "podAffinity": {}}}}
    assert apply_strategic_merge(document, patch, POD) == {"spec": {"affinity": {"podAffinity": {}}}}


def test_lists_without_a_strategy_are_replaced() -> None:
    document: Raw = {"spec": {"tolerations": [{"key": "a"}, {"key": "b"}]}}
    patch: Raw = {"spec": {"tolerations": [{"key": "c", "value": None}]}}
    assert apply_strategic_merge(document, patch, POD)["spec"]["tolerations"] == [{"key": "c"}]


def test_sets_are_joined_and_can_lose_elements() -> None:
    document: Raw = {"metadata": {"finalizers": ["a", "b"]}}
    joined = apply_strategic_merge(document, {"metadata": {"finalizers": ["c", "b"]}}, POD)
    assert joined["metadata"]["finalizers"] == ["c", "a", "b"]
    lost = apply_strategic_merge(document, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}, POD)
    assert lost["metadata"]["finalizers"] == ["b"]


def test_retain_keys_drops_what_it_does_not_name() -> None:
    document: Raw = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch: Raw = {"spec": {"strategy": {"type": "Recreate", "$retainKeys": ["type"]}}}
    assert apply_strategic_merge(document, patch, DEPLOYMENT)["spec"]["strategy"] == {"type": "Recreate"}
    volumes: Raw = {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}
    change: Raw = {"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}, "$retainKeys": ["name", "hostPath"]}]}}
    assert apply_strategic_merge(volumes, change, POD)["spec"]["volumes"] == [{"name": "v", "hostPath": {"path": "/"}}]


def test_a_field_can_be_replaced_by_its_strategy() -> None:
    document: Raw = {"spec": {"selector": {"matchLabels": {"a": "1"}}}}
    patch: Raw = {"spec": {"selector": {"matchExpressions": []}}}
    assert apply_strategic_merge(document, patch, BUDGET)["spec"]["selector"] == {"matchExpressions": []}


def test_conditions_as_a_kubelet_patches_them() -> None:
    document: Raw = {
        "status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Disk", "status": "False"}]}
    }
    patch: Raw = {
        "status": {
            "$setElementOrder/conditions": [{"type": "Disk"}, {"type": "Ready"}],
            "conditions": [{"type": "Ready", "status": "True"}],
        }
    }
    assert apply_strategic_merge(document, patch, NODE)["status"]["conditions"] == [
        {"type": "Disk", "status": "False"},
        {"type": "Ready", "status": "True"},
    ]


def test_fields_that_the_views_do_not_know_are_merged_as_objects_and_replaced_as_lists() -> None:
    document: Raw = {"spec": {"future": {"a": 1, "l": [1]}}}
    patch: Raw = {"spec": {"future": {"b": 2, "l": [2]}}}
    assert apply_strategic_merge(document, patch, POD) == {"spec": {"future": {"a": 1, "b": 2, "l": [2]}}}


_TWO = {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}, "metadata": {"finalizers": ["f"], "labels": {"l": "1"}}}


@pytest.mark.parametrize(
    ("patch", "code", "said"),
    [
        (
            {"spec": {"containers": [{"image": "x", "tty": True}]}},
            422,
            "map: map[image:x tty:true] does not contain declared merge key: name",
        ),
        ({"spec": {"containers": [1]}}, 422, "list element types are not identical: [[map[name:a] map[name:b]] [1]]"),
        ({"spec": {"$patch": "keep", "n": 1.5}}, 422, "unknown patch type: keep in map: map[$patch:keep n:1.5]"),
        ({"spec": {"$patch": 3}}, 422, "unknown patch type: %!s(int64=3) in map: map[$patch:3]"),
        (
            {"spec": {"containers": [{"name": "a", "$patch": "merge"}]}},
            422,
            "merging lists cannot yet be specified in the patch",
        ),
        ({"spec": {"$retainKeys": "name"}}, 400, "invalid patch format of retainKeys"),
        ({"spec": {"$retainKeys": [], "nodeName": "n"}}, 400, "invalid patch format of retainKeys"),
        ({"metadata": {"$deleteFromPrimitiveList": []}}, 400, "invalid patch format of primitive list"),
        ({"metadata": {"$setElementOrders/x": []}}, 400, "invalid patch format of setElementOrder list"),
        ({"spec": {"$setElementOrder/containers": 1}}, 422, "expected a []interface {}, but received a int64"),
        (
            {"spec": {"$setElementOrder/containers": [], "containers": None}},
            422,
            "expected a []interface {}, but received a %!s(<nil>)",
        ),
        (
            {"spec": {"$setElementOrder/boxes": []}},
            422,
            'unable to find api field in struct PodSpec for the json field "boxes"',
        ),
        (
            {"spec": {"$setElementOrder/containers": [{"name": "b"}], "containers": [{"name": "a"}]}},
            422,
            "The order in patch list:\n[map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n",
        ),
        ({"metadata": {"finalizers": [["f"]]}}, 422, "list element types are not identical: [[f] [[f]]]"),
        ([1], 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
    ],
)
def test_what_is_wrong_is_told_in_the_usual_words(patch: Any, code: int, said: str) -> None:
    with pytest.raises(PatchError) as caught:
        apply_strategic_merge(_TWO, patch, POD)
    assert (caught.value.code, caught.value.message) == (code, said)
    assert refusal(caught.value).code == code


def test_large_lists_are_merged_in_time() -> None:
    document: Raw = {"spec": {"containers": [{"name": f"c{i}"} for i in range(20_000)]}}
    order = [{"name": f"c{i}"} for i in reversed(range(20_000))]
    patch: Raw = {"spec": {"containers": [{"name": f"c{i}"} for i in reversed(range(0, 20_000, 2))]}}
    patch["spec"]["$setElementOrder/containers"] = order
    assert apply_strategic_merge(document, patch, POD)["spec"]["containers"] == order
