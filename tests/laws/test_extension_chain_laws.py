"""A cluster whose policies all say yes answers as one without policies: random requests, one after another."""

import asyncio
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.serve.verbs.bench import ME, document, make, new_api, pod

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind, Ref
from moorage.model.types.request import DeleteOptions
from moorage.serve.resources.objects import decode
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.changing import replace
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.deleting import delete
from moorage.serve.verbs.patching import Patch, patch_object

Raw = dict[str, Any]
MERGE = "application/merge-patch+json"
RULES = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
KINDS_HERE: tuple[Kind, ...] = (KINDS.POD, KINDS.CONFIG_MAP)

names = st.sampled_from(("a", "b", "", "Wrong Name"))
labels = st.dictionaries(st.sampled_from(("x", "y")), st.sampled_from(("1", "not ok!")), max_size=2)
requests = st.tuples(
    st.sampled_from(("create", "replace", "patch", "status", "delete")), st.sampled_from(KINDS_HERE), names, labels
)


def _document(kind: Kind, name: str, given: dict[str, str]) -> Raw:
    raw = pod(name) if kind is KINDS.POD else document(kind, name, data={"a": "b"})
    raw["metadata"] |= {"labels": given} if given else {}
    raw["metadata"] |= {} if name else {"generateName": "gen-"}
    return raw


async def _answer(api: Api, request: tuple[str, Kind, str, dict[str, str]]) -> Any:
    verb, kind, name, given = request
    ref = Ref(kind, "default", name)
    try:
        if verb == "create":
            outcome = await create(api, kind, "default", _document(kind, name, given), ME)
        elif verb == "replace":
            outcome = await replace(api, ref, _document(kind, name, given), ME)
        elif verb == "delete":
            outcome = await delete(api, ref, DeleteOptions())
        else:
            part = {"status": {"message": name}} if verb == "status" else {"metadata": {"labels": given}}
            sub = "status" if verb == "status" and kind is KINDS.POD else ""
            outcome = await patch_object(api, ref, Patch(MERGE, part), ME, sub)
    except ApiError as error:
        return error.code, error.message, error.warnings
    return _shown(decode(kind, outcome.stored)), tuple(outcome.warnings), outcome.created, outcome.deleted


def _shown(raw: Raw) -> Raw:
    """Return an object without what counts the writes and uids of a cluster."""
    metadata = {name: value for name, value in raw["metadata"].items() if name not in ("uid", "resourceVersion")}
    return {**raw, "metadata": metadata}


async def _run(sequence: list[tuple[str, Kind, str, dict[str, str]]], policies: bool, changes: bool) -> list[Any]:
    suffixes = (f"s{number}" for number in count())
    async with new_api(suffixes=suffixes) as api:
        if policies:
            await _register(api, changes=changes)
        return [await _answer(api, request) for request in sequence]


async def _register(api: Api, *, changes: bool) -> None:
    constraints = {"resourceRules": [RULES]}
    kind = KINDS.VALIDATING_ADMISSION_POLICY
    spec: Raw = {"matchConstraints": constraints, "validations": [{"expression": "true"}]}
    await make(api, kind, document(kind, "yes", spec=spec))
    kind = KINDS.VALIDATING_ADMISSION_POLICY_BINDING
    await make(api, kind, document(kind, "yes", spec={"policyName": "yes", "validationActions": ["Deny"]}))
    expression = "Object{metadata: Object.metadata{labels: {'z': 'z'}}}" if changes else "Object{}"
    patch = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    kind = KINDS.MUTATING_ADMISSION_POLICY
    spec = {"matchConstraints": constraints, "mutations": [patch], "reinvocationPolicy": "IfNeeded"}
    await make(api, kind, document(kind, "same", spec=spec))
    kind = KINDS.MUTATING_ADMISSION_POLICY_BINDING
    await make(api, kind, document(kind, "same", spec={"policyName": "same"}))


def _law(sequence: list[tuple[str, Kind, str, dict[str, str]]], *, changes: bool = False) -> None:
    async def both() -> tuple[list[Any], list[Any]]:
        return await _run(sequence, False, False), await _run(sequence, True, changes)

    without, with_policies = asyncio.run(both())
    assert with_policies == without


@settings(max_examples=10, deadline=None)
@given(st.lists(requests, min_size=1, max_size=8))
def test_policies_that_say_yes_change_nothing(sequence: list[tuple[str, Kind, str, dict[str, str]]]) -> None:
    _law(sequence)


def test_the_law_notices_a_policy_that_changes_something() -> None:
    with pytest.raises(AssertionError):
        _law([("create", KINDS.CONFIG_MAP, "a", {})], changes=True)
