"""Fields that nothing has: a patch is told of those that it brings, and they are not kept."""

import asyncio
from typing import Any

import pytest

from moorage.model.api_error import ApiError
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS, Ref
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.requests.options import IGNORE, STRICT, WARN, WriteOptions
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.patching import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE, Patch, patch_object, read_patch
from moorage.serve.verbs.registry import WriteResult
from moorage.store.memory import MemoryStore

DOCUMENT: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}


def patched(language: str, patch: Any, validation: str) -> WriteResult:
    async def main() -> WriteResult:
        api = Api(MemoryStore(), gates_from({}))
        await api.start()
        await bootstrap(api, 443)
        await create(api, KINDS.CONFIG_MAP, "default", {**DOCUMENT, "metadata": {"name": "one"}}, WriteOptions())
        options = WriteOptions(validation=validation, manager="me")
        return await patch_object(api, Ref(KINDS.CONFIG_MAP, "default", "one"), Patch(language, patch), options)

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("language", "patch", "value"),
    [
        (STRATEGIC_MERGE, {"odd": 1}, "map[odd:1]"),
        (MERGE_PATCH, {"odd": 1}, r"{\"metadata\":{"),
        (JSON_PATCH, [{"op": "add", "path": "/odd", "value": 1}], r"{\"metadata\":{"),
    ],
)
def test_a_field_that_a_patch_brings(language: str, patch: Any, value: str) -> None:
    assert list(patched(language, patch, WARN).warnings) == ['unknown field "odd"']
    assert list(patched(language, patch, IGNORE).warnings) == []
    with pytest.raises(ApiError) as refusal:
        patched(language, patch, STRICT)
    assert (refusal.value.code, refusal.value.reason) == (422, "Invalid")
    assert refusal.value.message.startswith(f' "" is invalid: patch: Invalid value: "{value}')
    assert refusal.value.message.endswith(': strict decoding error: unknown field "odd"')


def test_what_a_patch_brings_and_nothing_has_is_not_kept() -> None:
    outcome = patched(MERGE_PATCH, {"odd": 1, "data": {"a": "b"}}, IGNORE)
    assert b'"data":{"a":"b"}' in outcome.stored.value
    assert b"odd" not in outcome.stored.value


def test_fields_of_operations() -> None:
    patch = [{"op": "add", "path": "/data", "value": {}, "odd": 1}]
    assert list(patched(JSON_PATCH, patch, WARN).warnings) == ['json patch unknown field "[0].odd"']


@pytest.mark.parametrize(
    ("language", "patch", "said"),
    [
        (JSON_PATCH, b"{}", "error decoding patch: json: cannot unmarshal object into Go value of type"),
        (MERGE_PATCH, b"[]", "error decoding patch: json: cannot unmarshal array into Go value of type map"),
        (STRATEGIC_MERGE, b'"a"', "json: cannot unmarshal string into Go value of type map"),
    ],
)
def test_a_patch_of_the_wrong_type(language: str, patch: bytes, said: str) -> None:
    with pytest.raises(ApiError, match=said):
        patched(language, read_patch(patch, language).document, WARN)
