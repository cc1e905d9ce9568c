"""Patch: four languages, what is refused in each, and what apply makes, keeps and gives up."""

from typing import Any

import pytest
from tests.unit.serve.verbs.bench import DRY, ME, Raw, document, make, meddle, read, refused, shown

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Ref
from moorage.serve.requests.options import IGNORE, STRICT, WARN, WriteOptions
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.patching import (
    APPLY,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE,
    Patch,
    duplicate_warnings,
    patch_object,
    read_patch,
)
from moorage.serve.verbs.registry import WriteResult

READ: list[tuple[bytes, str, Any, list[str]]] = [
    (b'{"a": 1}', MERGE_PATCH, {"a": 1}, []),
    (b'{"a": 1}', f"{STRATEGIC_MERGE}; charset=utf-8", {"a": 1}, []),
    (b'{"a": {"b": 1, "b": 2}}', MERGE_PATCH, {"a": {"b": 2}}, ['duplicate field "a.b"']),
    (b'[{"op": "x", "op": "y"}]', JSON_PATCH, [{"op": "y"}], ['json patch duplicate field "[0].op"']),
    (b"a: 1\n", APPLY, {"a": 1}, []),
    (b'{"a": 1}', APPLY, {"a": 1}, []),
    (b"a:\n  b: 1\n  b: 2\n", APPLY, {"a": {"b": 2}}, ['line 3: key "b" already set in map']),
]


@pytest.mark.parametrize(("body", "content_type", "patch", "twice"), READ)
def test_how_a_patch_is_read(body: bytes, content_type: str, patch: Any, twice: list[str]) -> None:
    found = read_patch(body, content_type)
    assert (found.patch_type, found.document, found.duplicates) == (content_type.partition(";")[0], patch, twice)


NOT_UNMARSHALLED = "json: cannot unmarshal array into Go value of type map[string]interface {}"
UNREADABLE = [
    (b"{}", "application/json", 415, "the body of the request was in an unknown format"),
    (b"{", MERGE_PATCH, 400, "the object provided is unrecognized"),
    (b"- 1\n", APPLY, 400, f"error decoding YAML: {NOT_UNMARSHALLED}"),
    (b"", APPLY, 400, "the body must be one document, not 0"),
    (b"a: 1\n---\nb: 2\n", APPLY, 400, "the body must be one document, not 2"),
    (b"a: [", APPLY, 400, "error converting YAML to JSON: "),
]


@pytest.mark.parametrize(("body", "content_type", "code", "said"), UNREADABLE)
def test_what_is_no_patch(body: bytes, content_type: str, code: int, said: str) -> None:
    with pytest.raises(ApiError) as refusal:
        read_patch(body, content_type)
    assert refusal.value.code == code
    assert refusal.value.message.startswith(said)


def test_keys_that_are_applied_twice() -> None:
    twice = ['line 3: key "b" already set in map']
    assert list(duplicate_warnings(twice, WARN)) == twice
    assert list(duplicate_warnings(twice, IGNORE)) == list(duplicate_warnings([], STRICT)) == []
    with pytest.raises(ApiError, match=r"error strict decoding YAML: .* errors:\n  line 3: key \"b\" already set"):
        duplicate_warnings(twice, STRICT)


async def patched(api: Api, language: str, patch: Any, options: WriteOptions = ME, name: str = "one") -> WriteResult:
    return await patch_object(api, Ref(KINDS.CONFIG_MAP, "default", name), Patch(language, patch), options)


CHANGES: list[tuple[str, Any, Raw]] = [
    (MERGE_PATCH, {"data": {"b": "2"}}, {"a": "1", "b": "2"}),
    (MERGE_PATCH, {"data": {"a": None, "b": "2"}}, {"b": "2"}),
    (STRATEGIC_MERGE, {"data": {"b": "2"}}, {"a": "1", "b": "2"}),
    (STRATEGIC_MERGE, {"data": {"$patch": "replace", "b": "2"}}, {"b": "2"}),
    (JSON_PATCH, [{"op": "add", "path": "/data/b", "value": "2"}], {"a": "1", "b": "2"}),
    (JSON_PATCH, [{"op": "move", "from": "/data/a", "path": "/data/b"}], {"b": "1"}),
    (APPLY, document(KINDS.CONFIG_MAP, "one", data={"b": "2"}), {"a": "1", "b": "2"}),
]


@pytest.mark.parametrize(("language", "patch", "data"), CHANGES)
@pytest.mark.parametrize("options", [ME, DRY])
async def test_what_a_patch_makes(language: str, patch: Any, data: Raw, options: WriteOptions, api: Api) -> None:
    await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "one", data={"a": "1"}))
    before, asked = api.store.revision, repr(patch)
    outcome = await patched(api, language, patch, options)
    assert shown(KINDS.CONFIG_MAP, outcome)["data"] == data
    assert (api.store.revision == before) is options.dry_run
    assert repr(patch) == asked  # it is still the caller's
    found = await read(api, KINDS.CONFIG_MAP, "one")
    assert found is not None
    assert found["data"] == ({"a": "1"} if options.dry_run else data)


@pytest.mark.parametrize("language", [MERGE_PATCH, STRATEGIC_MERGE, APPLY])
@pytest.mark.parametrize("insists", [False, True])
async def test_a_patch_that_races(language: str, insists: bool, api: Api) -> None:
    made = await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "one", data={"a": "1"}))
    metadata = {"resourceVersion": str(made.stored.revision)} if insists else {}
    meddle(api)
    attempt = patched(api, language, document(KINDS.CONFIG_MAP, "one", metadata=metadata, data={"b": "2"}))
    if insists:
        assert await refused(attempt) == (409, ON_ONE + STALE)
    else:
        assert shown(KINDS.CONFIG_MAP, await attempt)["data"] == {"a": "9", "b": "2"}


STALE = "the object has been modified; please apply your changes to the latest version and try again"
ON_ONE = 'Operation cannot be fulfilled on configmaps "one": '
OTHER_NAME = "the name of the object (two) does not match the name on the URL (one)"
NO_NAME = "the name of the object (one based on URL) was undeterminable: name must be provided"
GENERIC = "the server rejected our request due to an error in our request"
REFUSED: list[tuple[str, Any, int, str]] = [
    (MERGE_PATCH, {"metadata": {"name": "two"}}, 400, OTHER_NAME),
    (MERGE_PATCH, {"metadata": None}, 400, NO_NAME),
    (MERGE_PATCH, {"metadata": {"resourceVersion": "1"}}, 409, ON_ONE + STALE),
    (JSON_PATCH, [{"op": "remove", "path": "/nothing"}], 422, GENERIC),
    (JSON_PATCH, [{"op": "test", "path": "/data/a", "value": "9"}], 422, GENERIC),
    (STRATEGIC_MERGE, {"data": {"$patch": "bend"}}, 422, "unknown patch type: bend in map: map[$patch:bend]"),
    (APPLY, {"metadata": {}}, 400, "apply needs the apiVersion and the kind of configmaps 'one' in the patch"),
    (APPLY, document(KINDS.CONFIG_MAP, "two"), 400, "metadata.name (two) must match the name of the request (one)"),
    (
        APPLY,
        document(KINDS.CONFIG_MAP, "one", metadata={"managedFields": [{}]}),
        400,
        "metadata.managedFields must be nil",
    ),
    (APPLY, document(KINDS.CONFIG_MAP, "one", metadata={"resourceVersion": "1"}), 409, ON_ONE + STALE),
    (
        APPLY,
        document(KINDS.CONFIG_MAP, "one", odd=1),
        400,
        "failed to create typed patch object (default/one; /v1, Kind=ConfigMap): .odd: field not declared in schema",
    ),
]


@pytest.mark.parametrize(("language", "patch", "code", "said"), REFUSED)
async def test_what_a_patch_cannot_do(language: str, patch: Any, code: int, said: str, api: Api) -> None:
    await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "one", data={"a": "1"}))
    before = api.store.revision
    assert await refused(patched(api, language, patch, WriteOptions("you", validation=STRICT))) == (code, said)
    assert api.store.revision == before


@pytest.mark.parametrize("language", [MERGE_PATCH, STRATEGIC_MERGE, JSON_PATCH])
async def test_only_apply_creates(language: str, api: Api) -> None:
    patch: Any = [] if language == JSON_PATCH else {}
    assert await refused(patched(api, language, patch)) == (404, 'configmaps "one" not found')
    applied = await patched(api, APPLY, document(KINDS.CONFIG_MAP, "one", data={"a": "1"}))
    assert applied.created
    (entry,) = shown(KINDS.CONFIG_MAP, applied)["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("me", "Apply")
    assert entry["fieldsV1"] == {"f:data": {"f:a": {}}}


async def test_apply_does_not_make_what_was_meant_for_another(api: Api) -> None:
    patch = document(KINDS.CONFIG_MAP, "one", metadata={"uid": "gone"})
    why = "uid mismatch: the provided object specified uid gone, and no existing object was found"
    assert await refused(patched(api, APPLY, patch)) == (409, ON_ONE + why)
    status = patch_object(api, Ref(KINDS.NODE, "", "n"), Patch(APPLY, document(KINDS.NODE, "n")), ME, "status")
    assert await refused(status) == (404, 'nodes "n" not found')


async def test_who_owns_what(api: Api) -> None:
    you, forced = WriteOptions("you"), WriteOptions("you", force=True)
    await patched(api, APPLY, document(KINDS.CONFIG_MAP, "one", data={"a": "1", "b": "1"}))
    theirs = document(KINDS.CONFIG_MAP, "one", data={"a": "2"})
    said = 'Apply failed with 1 conflict: conflict with "me": .data.a'
    assert await refused(patched(api, APPLY, theirs, you)) == (409, said)
    assert shown(KINDS.CONFIG_MAP, await patched(api, APPLY, theirs, forced))["data"] == {"a": "2", "b": "1"}
    mine = shown(KINDS.CONFIG_MAP, await patched(api, APPLY, document(KINDS.CONFIG_MAP, "one")))
    assert mine["data"] == {"a": "2"}  # what I no longer apply, and nobody else has, goes
    assert [entry["manager"] for entry in mine["metadata"]["managedFields"]] == ["you"]


@pytest.mark.parametrize("language", [MERGE_PATCH, STRATEGIC_MERGE])
@pytest.mark.parametrize(
    ("validation", "said"), [(WARN, ['duplicate field "data.b"', 'unknown field "odd"']), (IGNORE, [])]
)
async def test_what_a_patch_says_twice(language: str, validation: str, said: list[str], api: Api) -> None:
    await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "one"))
    patch = read_patch(b'{"odd": 1, "data": {"b": "1", "b": "2"}}', language)
    where = (api, Ref(KINDS.CONFIG_MAP, "default", "one"), patch)
    code, message = await refused(patch_object(*where, WriteOptions("me", validation=STRICT)))
    assert code == 422
    assert message.endswith('strict decoding error: duplicate field "data.b", unknown field "odd"')
    outcome = await patch_object(*where, WriteOptions("me", validation=validation))
    assert list(outcome.warnings) == said
