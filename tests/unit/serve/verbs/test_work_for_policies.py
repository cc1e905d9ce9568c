"""What requests cost for the sake of policies and webhooks: nothing where there are none, or none about them."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from tests.unit.serve.verbs.bench import ME, deployment, document, make, new_api, pod, read

from moorage.model.kinds import KINDS, Ref
from moorage.model.types.request import DeleteOptions
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.changing import replace
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.deleting import delete
from moorage.serve.verbs.patching import Patch, patch_object

_ROOMS = ("/moorage/admit/extension/", "/moorage/serve/admission/extended", "/moorage/serve/verbs/extended_writes")
_MERGE = "application/merge-patch+json"


@contextmanager
def calls() -> Iterator[Counter[str]]:
    """Count the calls of what is there for policies and webhooks."""
    found: Counter[str] = Counter()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and any(room in frame.f_code.co_filename for room in _ROOMS):
            found[frame.f_code.co_qualname] += 1

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)


#: What changes are made of in any case: a question whether there are any, and the steps of one. A deletion has none.
_QUESTIONS = {"extended_request": 4, "extended_deletion": 1, "carried_out": 3, "advance": 3}


async def _create_everything(api: Api, name: str) -> None:
    await create(api, KINDS.POD, "default", pod(name), ME)
    await make(api, KINDS.DEPLOYMENT, deployment(name))
    await make(api, KINDS.SECRET, document(KINDS.SECRET, name))


async def _change_everything(api: Api, name: str) -> None:
    ref = Ref(KINDS.POD, "default", name)
    found = await read(api, KINDS.POD, name)
    assert found is not None
    found["metadata"]["labels"] = {"a": "b"}
    await replace(api, ref, found, ME)
    await patch_object(api, ref, Patch(_MERGE, {"metadata": {"labels": {"a": "c"}}}), ME, "")
    await patch_object(api, ref, Patch(_MERGE, {"status": {"phase": "Running"}}), ME, "status")
    await delete(api, ref, DeleteOptions(gracePeriodSeconds=0))


async def _write_everything(api: Api, name: str) -> None:
    await _create_everything(api, name)
    await _change_everything(api, name)


async def test_cluster_without_policies_does_nothing_for_them() -> None:
    async with new_api() as api:
        with calls() as found:
            await _create_everything(api, "a")
        assert not found
        with calls() as found:
            await _change_everything(api, "a")
        assert found == _QUESTIONS


async def test_policies_about_other_resources_cost_a_look_at_what_is_known() -> None:
    async with new_api() as api:
        rule = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["configmaps", "nodes"]}
        spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "false"}]}
        kind = KINDS.VALIDATING_ADMISSION_POLICY
        await make(api, kind, document(kind, "never", spec=spec))
        kind = KINDS.VALIDATING_ADMISSION_POLICY_BINDING
        await make(api, kind, document(kind, "b", spec={"policyName": "never", "validationActions": ["Deny"]}))
        await _write_everything(api, "a")  # each kind of request is looked up once
        with calls() as found:
            await _create_everything(api, "b")
        assert set(found) == {"RegisteredExtensions.generation"}
        with calls() as found:
            await _change_everything(api, "b")
        looks = found.pop("RegisteredExtensions.generation")
        assert found == _QUESTIONS
        assert looks <= 2 * _QUESTIONS["extended_request"]
        await delete(api, Ref(KINDS.VALIDATING_ADMISSION_POLICY_BINDING, "", "b"), DeleteOptions())
        await delete(api, Ref(KINDS.VALIDATING_ADMISSION_POLICY, "", "never"), DeleteOptions())
        with calls() as found:
            await _create_everything(api, "c")
        assert not found
