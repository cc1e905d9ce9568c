"""JSON patches: what each operation does, in which words it fails, and what hostile ones cost."""

from typing import Any

import msgspec
import pytest

from moorage.model.patch.json_patch import apply_json_patch, unknown_operation_fields
from moorage.model.patch.patch_error import PatchError, refusal

Raw = dict[str, Any]

POD: Raw = {"metadata": {"name": "a", "labels": {"x/y": "1", "t~": "2"}}, "spec": {"list": [1, 2, 3], "on": True}}


def _said(*operations: Any) -> str:
    with pytest.raises(PatchError) as caught:
        apply_json_patch(POD, list(operations))
    assert caught.value.code == 422
    return caught.value.message


@pytest.mark.parametrize(
    ("operation", "place", "expected"),
    [
        ({"op": "add", "path": "/spec/list/-", "value": 4}, "list", [1, 2, 3, 4]),
        ({"op": "add", "path": "/spec/list/1", "value": 9}, "list", [1, 9, 2, 3]),
        ({"op": "add", "path": "/spec/list/-1", "value": 9}, "list", [1, 2, 3, 9]),
        ({"op": "remove", "path": "/spec/list/0"}, "list", [2, 3]),
        ({"op": "remove", "path": "/spec/list/-1"}, "list", [1, 2]),
        ({"op": "replace", "path": "/spec/list/+1", "value": {}}, "list", [1, {}, 3]),
        ({"op": "replace", "path": "/spec/new", "value": 1}, "new", 1),
        ({"op": "replace", "path": "spec/on", "value": 1}, "on", True),
        ({"op": "copy", "from": "/metadata/labels/x~1y", "path": "/spec/on"}, "on", "1"),
        ({"op": "move", "from": "/metadata/labels/t~0", "path": "/spec/list/0"}, "list", ["2", 1, 2, 3]),
        ({"op": "add", "path": "/spec/on"}, "on", None),
    ],
)
def test_operations(operation: Raw, place: str, expected: Any) -> None:
    assert apply_json_patch(POD, [operation])["spec"][place] == expected


def test_operations_come_one_after_another_and_leave_the_document_alone() -> None:
    before = {"metadata": dict(POD["metadata"]), "spec": {"list": [1, 2, 3], "on": True}}
    patch: list[Raw] = [
        {"op": "copy", "from": "/spec/list", "path": "/spec/other"},
        {"op": "remove", "path": "/spec/list/0"},
        {"op": "add", "path": "/spec/other/-", "value": {"deep": []}},
        {"op": "add", "path": "/spec/other/3/deep/-", "value": 1},
        {"op": "test", "path": "/spec/other", "value": [1, 2, 3, {"deep": [1]}]},
    ]
    after = apply_json_patch(POD, patch)
    assert after["spec"]["list"] == [2, 3]
    assert after["metadata"] is POD["metadata"]
    assert before == POD
    assert patch[2]["value"] == {"deep": []}


def test_a_whole_document_can_be_replaced() -> None:
    assert apply_json_patch(POD, [{"op": "replace", "path": "", "value": {"a": 1}}]) == {"a": 1}
    said = _said({"op": "replace", "path": "", "value": [1]})
    assert said == "the patched document is not an object"
    said = _said({"op": "replace", "path": "", "value": 1})
    assert said == "replace operation value must be object or array: %!w(<nil>)"


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        ({"op": "hide", "path": "/spec"}, "Unexpected kind: hide"),
        ({"path": "/spec"}, "Unexpected kind: unknown"),
        ({"op": "add"}, "add operation failed to decode path: missing value"),
        ({"op": "add", "path": ""}, 'add operation does not apply: doc is missing path: "": missing value'),
        (
            {"op": "add", "path": "/no/where"},
            'add operation does not apply: doc is missing path: "/no/where": missing value',
        ),
        (
            {"op": "add", "path": "/spec/list/9"},
            "error in add for path: '/spec/list/9': Unable to access invalid index: 9: invalid index referenced",
        ),
        (
            {"op": "add", "path": "/spec/list/x"},
            "error in add for path: '/spec/list/x': value was not a proper array index: 'x': "
            'strconv.Atoi: parsing "x": invalid syntax',
        ),
        (
            {"op": "remove", "path": "/spec/no"},
            "error in remove for path: '/spec/no': Unable to remove nonexistent key: no: missing value",
        ),
        (
            {"op": "remove", "path": "/spec/list/99999999999999999999"},
            "error in remove for path: '/spec/list/99999999999999999999': "
            'strconv.Atoi: parsing "99999999999999999999": value out of range',
        ),
        (
            {"op": "replace", "path": "/spec/list/7", "value": 1},
            "replace operation does not apply: doc is missing key: /spec/list/7: missing value",
        ),
        (
            {"op": "replace", "value": 1},
            "replace operation failed to decode path: operation missing path field: missing value",
        ),
        (
            {"op": "move", "path": "/spec/on"},
            "move operation failed to decode from: operation, missing from field: missing value",
        ),
        (
            {"op": "move", "from": "/spec/no", "path": "/spec/on"},
            "error in move for path: 'no': Unable to remove nonexistent key: no: missing value",
        ),
        (
            {"op": "copy", "from": "/spec/list/8", "path": "/spec/on"},
            "error in copy for from: '/spec/list/8': Unable to access invalid index: 8: invalid index referenced",
        ),
        ({"op": "test", "path": "/spec/on", "value": 1}, "testing value /spec/on failed: test failed"),
        ({"op": "test", "path": "/spec/list/0", "value": 1.0}, "testing value /spec/list/0 failed: test failed"),
        (
            {"op": "test", "path": "/a/b", "value": 1},
            "test operation does not apply: is missing path: /a/b: missing value",
        ),
    ],
)
def test_failures_have_kubernetes_error_texts(operation: Raw, said: str) -> None:
    assert _said(operation) == said


def test_absence_passes_a_test_for_null() -> None:
    assert apply_json_patch(POD, [{"op": "test", "path": "/spec/no", "value": None}]) == POD


@pytest.mark.parametrize(
    ("patch", "code", "said"),
    [
        ({"op": "add"}, 400, "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ([1], 400, "json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        (
            [{"op": "add", "path": 1}],
            400,
            "cannot unmarshal number into Go struct field jsonPatchOp.path of type string",
        ),
        ([{}] * 10_001, 413, "The allowed maximum operations in a JSON patch is 10000, got 10001"),
    ],
)
def test_what_is_no_patch(patch: Any, code: int, said: str) -> None:
    with pytest.raises(PatchError) as caught:
        apply_json_patch(POD, patch)
    assert caught.value.code == code
    assert said in caught.value.message


def test_copies_may_only_add_up_to_so_much() -> None:
    bomb: list[Raw] = [{"op": "add", "path": "/spec/b", "value": ["x" * 1000]}]
    bomb += [{"op": "copy", "from": "/spec/b", "path": "/spec/b/-"} for _ in range(40)]
    assert "exceeding the limit 3145728" in _said(*bomb)


def test_documents_may_not_become_endlessly_deep() -> None:
    deep: list[Raw] = [{"op": "add", "path": "/spec/b", "value": {}}]
    deep += [{"op": "copy", "from": "/spec/b", "path": "/spec/b" + "/b" * 2**i} for i in range(7)]
    deep += [{"op": "add", "path": "/spec/c", "value": {}}]
    deep += [
        {"op": "copy", "from": "/spec/b", "path": "/spec/c/c"},
        {"op": "move", "from": "/spec/c", "path": "/spec/b" + "/b" * 128},
    ]
    said = _said(*deep)
    assert "nested too deeply" in said
    assert "more than 200 steps" in _said({"op": "add", "path": "/a" * 300})


def test_unknown_fields_of_operations_are_named() -> None:
    assert unknown_operation_fields([{"op": "add", "to": 1}]) == ['json patch unknown field "[0].to"']
    assert unknown_operation_fields({"to": 1}) == []


def test_the_answer_has_the_reason_as_a_cause() -> None:
    with pytest.raises(PatchError) as caught:
        apply_json_patch(POD, [{"op": "remove", "path": "/spec/no"}])
    status = refusal(caught.value).status
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["message"] == "the server rejected our request due to an error in our request"
    assert "nonexistent key" in status["details"]["causes"][0]["message"]


def test_what_is_copied_does_not_change_with_its_source() -> None:
    document = {"spec": {"list": [{"a": [1]}]}}
    result = apply_json_patch(
        document,
        [
            {"op": "add", "path": "/spec/list/0/a/-", "value": 2},
            {"op": "copy", "from": "/spec/list", "path": "/spec/list/-"},
            {"op": "add", "path": "/spec/list/0/a/-", "value": 3},
            {"op": "copy", "from": "/spec/list/1", "path": "/spec/again"},
            {"op": "replace", "path": "/spec/list/1/0/a/0", "value": 9},
            {"op": "copy", "from": "/spec", "path": "/spec/own"},
        ],
    )
    spec = {"list": [{"a": [1, 2, 3]}, [{"a": [9, 2]}]], "again": [{"a": [1, 2]}]}
    assert result == {"spec": {**spec, "own": spec}}
    assert document == {"spec": {"list": [{"a": [1]}]}}
    result["spec"]["own"]["list"][0]["a"].clear()
    assert result["spec"]["list"][0]["a"] == [1, 2, 3]


def test_copies_of_a_growing_list_are_refused_before_they_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[int] = []
    encode = msgspec.json.encode

    def counting(value: Any) -> bytes:
        text = encode(value)
        encoded.append(len(text))
        return text

    monkeypatch.setattr(msgspec.json, "encode", counting)
    copies = [{"op": "copy", "from": "/spec/list", "path": "/spec/list/-"}] * 100
    assert "exceeding the limit 3145728" in _said(*copies)
    assert sum(encoded) < 1_000
