"""Laws of patches: what comes in is left alone, an empty patch changes nothing, merging twice is merging once."""

import copy
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices

from moorage.model.kinds import KINDS
from moorage.model.patch.json_patch import apply_json_patch, apply_merge_patch
from moorage.model.patch.patch_error import PatchError
from moorage.model.patch.strategic_merge import apply_strategic_merge
from moorage.model.schema.merge_schema import schema_of

Raw = dict[str, Any]
Patcher = Callable[[Raw, Any], Raw]

POD = schema_of(KINDS.POD)

_names = st.sampled_from(["a", "b", "c"])
_labels = st.dictionaries(_names, st.one_of(st.none(), _names), max_size=3)
_containers = st.lists(
    st.fixed_dictionaries({"name": _names}, optional={"image": _names, "command": st.lists(_names, max_size=2)}),
    max_size=4,
    unique_by=lambda container: container["name"],
)
_documents = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {"labels": st.dictionaries(_names, _names, max_size=3)},
            optional={"finalizers": st.lists(_names, max_size=3, unique=True)},
        ),
        "spec": st.fixed_dictionaries({"containers": _containers}, optional={"nodeName": _names}),
    }
)
_merge_patches = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries(
            {}, optional={"labels": _labels, "finalizers": st.lists(_names, max_size=3, unique=True)}
        ),
        "spec": st.fixed_dictionaries(
            {}, optional={"containers": _containers, "nodeName": st.one_of(st.none(), _names)}
        ),
    },
)
_paths = st.sampled_from(["/metadata/labels/a", "/spec/containers/0", "/spec/containers/-", "/spec", "/x/y", "/spec/x"])
_operations = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": _paths, "from": _paths},
        optional={"value": st.one_of(st.none(), _names, _labels)},
    ),
    max_size=6,
)


def _strategic(document: Raw, patch: Any) -> Raw:
    return apply_strategic_merge(document, patch, POD)


def _inputs_are_left_alone(patcher: Patcher, patches: st.SearchStrategy[Any]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(document=_documents, patch=patches)
    def law(document: Raw, patch: Any) -> None:
        before = copy.deepcopy((document, patch))
        with suppress(PatchError):
            patcher(document, patch)
        assert (document, patch) == before

    return law


def _twice_is_once(patcher: Patcher) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(document=_documents, patch=_merge_patches)
    def law(document: Raw, patch: Raw) -> None:
        once = patcher(document, patch)
        assert patcher(once, patch) == once

    return law


def _in_place(document: Raw, patch: Any) -> Raw:
    document.update(patch if isinstance(patch, dict) else {"patched": True})
    return document


def _appending(document: Raw, patch: Raw) -> Raw:
    containers = document["spec"]["containers"] + patch.get("spec", {}).get("containers", [])
    return {**document, "spec": {"containers": containers}}


def test_inputs_are_left_alone() -> None:
    _inputs_are_left_alone(apply_merge_patch, _merge_patches)()
    _inputs_are_left_alone(_strategic, _merge_patches)()
    _inputs_are_left_alone(apply_json_patch, _operations)()
    assert_notices(_inputs_are_left_alone(_in_place, _merge_patches))


def test_merging_twice_is_merging_once() -> None:
    _twice_is_once(apply_merge_patch)()
    _twice_is_once(_strategic)()
    assert_notices(_twice_is_once(_appending))


def test_an_empty_patch_changes_nothing() -> None:
    document = {"spec": {"containers": [{"name": "a"}]}}
    assert apply_merge_patch(document, {}) == _strategic(document, {}) == apply_json_patch(document, []) == document
