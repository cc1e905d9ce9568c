"""Requests of the page: what they may ask for."""

from typing import Any

import pytest

from moorage.dashboard.actions.context import ActionError
from moorage.dashboard.actions.steps import CHANGEABLE, MAX_STEPS, patched, steps_of
from moorage.model.kinds import KINDS

_NODE = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
_PATCH = [{"op": "add", "path": "/spec/unschedulable", "value": True}]
_CURRENT = {"metadata": {"name": "n1", "labels": {"zone": "a"}}, "spec": {"taints": [{"key": "k"}], "podCIDR": "x"}}


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        pytest.param({}, 400, "the request has no target", id="empty"),
        pytest.param({"steps": []}, 400, '"steps" is not a list of changes', id="no steps"),
        pytest.param({"steps": [3]}, 400, r"steps\[0\] is no object", id="a number"),
        pytest.param({"steps": [{}] * (MAX_STEPS + 1)}, 400, "more than the 5000", id="too many"),
        pytest.param({"verb": "exec", "target": _NODE}, 400, "the verb 'exec'", id="verb"),
        pytest.param({"target": {**_NODE, "name": 3}}, 400, "without apiVersion, kind and name", id="name"),
        pytest.param({"target": {**_NODE, "kind": "Secret"}}, 403, "a Secret .* is not changed from here", id="kind"),
        pytest.param({"target": {**_NODE, "namespace": "x"}}, 400, "needless namespace", id="namespace"),
        pytest.param({"target": _NODE}, 400, "has no patch of its patchType", id="no patch"),
        pytest.param({"target": _NODE, "patch": {}, "patchType": "apply"}, 400, "patchType 'apply'", id="type"),
        pytest.param({"target": _NODE, "patch": {"a": 1}}, 400, "has no patch of its patchType", id="wrong type"),
        pytest.param({"verb": "delete", "target": _NODE}, 403, "neither created nor deleted", id="delete a node"),
        pytest.param({"verb": "create", "document": {"metadata": _NODE}}, 403, "nameless kind", id="create"),
        pytest.param({"verb": "create"}, 400, "no document to create", id="create nothing"),
    ],
)
def test_other_kinds_and_fields_are_refused(body: Any, code: int, message: str) -> None:
    with pytest.raises(ActionError, match=message) as refused:
        steps_of(body)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        pytest.param([{"op": "replace", "path": "/spec/podCIDR", "value": "y"}], 403, "spec.podCIDR", id="field"),
        pytest.param([{"op": "replace", "path": "/metadata/name", "value": "y"}], 403, "metadata.name", id="name"),
        pytest.param([{"op": "remove", "path": "/spec"}], 403, "Node n1: spec is not changed", id="everything"),
        pytest.param([{"op": "test", "path": "/spec/taints", "value": []}], 409, "changed meanwhile", id="test"),
        pytest.param(
            [{"op": "add", "path": "/metadata/labels/zone", "value": "b"}],
            409,
            r"Node n1 has changed meanwhile \(metadata.labels.zone is not what it was\): look again",
            id="to be added and there",
        ),
        pytest.param([{"op": "move", "from": "/spec/podCIDR", "path": "/spec/taints"}], 403, "podCIDR", id="moved"),
        pytest.param([{"op": "frob", "path": "/spec"}], 422, "cannot be applied", id="operation"),
        pytest.param([5], 400, "is no object", id="number"),
    ],
)
def test_only_some_fields_are_changed(patch: Any, code: int, message: str) -> None:
    (step,) = steps_of({"target": _NODE, "patch": patch})
    with pytest.raises(ActionError, match=message) as refused:
        patched(step, _CURRENT)
    assert refused.value.code == code


def test_a_merge_patch_is_held_to_the_same_fields() -> None:
    (step,) = steps_of({"target": _NODE, "patch": {"spec": {"podCIDR": "y"}}, "patchType": "merge"})
    with pytest.raises(ActionError, match=r"spec\.podCIDR"):
        patched(step, _CURRENT)
    (step,) = steps_of({"target": _NODE, "patch": {"spec": {"taints": None}}, "patchType": "merge"})
    assert patched(step, _CURRENT)["spec"] == {"podCIDR": "x"}


def test_allowed_fields_are_changed() -> None:
    patch = [*_PATCH, {"op": "add", "path": "/spec/taints/-", "value": {"key": "l"}}]
    (step,) = steps_of({"target": _NODE, "patch": patch})
    assert patched(step, _CURRENT)["spec"] == {
        "taints": [{"key": "k"}, {"key": "l"}],
        "podCIDR": "x",
        "unschedulable": True,
    }


def test_every_kind_that_may_be_changed_exists() -> None:
    assert set(CHANGEABLE) <= {kind.name for kind in KINDS.values()}
