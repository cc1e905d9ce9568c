"""The options of a request: what they mean, what is refused, and in which words."""

from typing import Any

import msgspec
import pytest

from moorage.model.api_error import ApiError
from moorage.serve.access.authorization import attributes_of
from moorage.serve.http.messages import Request
from moorage.serve.requests.options import (
    IGNORE,
    STRICT,
    WARN,
    ListOptions,
    WriteOptions,
    check_timeout,
    delete_options,
    list_options,
    seen_revision,
    write_options,
)

MATCH = "resourceVersionMatch"
LISTED: list[tuple[dict[str, str], ListOptions]] = [
    ({}, ListOptions()),
    ({"labelSelector": "a=b", "fieldSelector": "c=d"}, ListOptions(labels="a=b", fields="c=d")),
    ({"limit": "5", "continue": "x"}, ListOptions(limit=5, continues="x")),
    ({"limit": "-1"}, ListOptions(limit=0)),
    ({"limit": "+7"}, ListOptions(limit=7)),
    ({"resourceVersion": ""}, ListOptions(resource_version=None)),
    ({"resourceVersion": "0"}, ListOptions(resource_version=0)),
    ({"resourceVersion": "12", MATCH: "Exact"}, ListOptions(resource_version=12, match="Exact")),
    ({"resourceVersion": "0", MATCH: "NotOlderThan"}, ListOptions(resource_version=0, match="NotOlderThan")),
    ({"continue": "x", "resourceVersion": "0"}, ListOptions(continues="x", resource_version=0)),
    ({"watch": ""}, ListOptions(watch=True)),
    ({"watch": "what?"}, ListOptions(watch=True)),
    ({"watch": "False"}, ListOptions()),
    ({"watch": "1", "continue": "x", "resourceVersion": "3"}, ListOptions("", "", 0, "x", 3, "", watch=True)),
    (
        {"watch": "1", "allowWatchBookmarks": "t", "timeoutSeconds": "9"},
        ListOptions(watch=True, bookmarks=True, timeout_seconds=9),
    ),
    (
        {"watch": "1", "sendInitialEvents": "true", MATCH: "NotOlderThan"},
        ListOptions(watch=True, initial_events=True, match="NotOlderThan"),
    ),
    (
        {"watch": "1", "sendInitialEvents": "false", MATCH: "NotOlderThan"},
        ListOptions(watch=True, initial_events=False, match="NotOlderThan"),
    ),
]


@pytest.mark.parametrize(("query", "options"), LISTED)
def test_what_a_list_is_asked_for(query: dict[str, str], options: ListOptions) -> None:
    assert list_options(query) == options


NEEDS_REVISION = "resourceVersionMatch is forbidden unless resourceVersion is provided"
WITH_CONTINUE = "resourceVersionMatch is forbidden when continue is provided"
ONLY_WITH_INITIAL = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
NEEDS_MATCH = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
NOT_FOR_LIST = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"
ONLY_NOT_OLDER = 'supported values: "NotOlderThan"'
REFUSED_LISTS: list[tuple[dict[str, str], list[str]]] = [
    ({MATCH: "Exact"}, [f"{MATCH}: Forbidden: {NEEDS_REVISION}"]),
    (
        {MATCH: "Exact", "continue": "x"},
        [f"{MATCH}: Forbidden: {NEEDS_REVISION}", f"{MATCH}: Forbidden: {WITH_CONTINUE}"],
    ),
    (
        {MATCH: "Best", "resourceVersion": "1"},
        [f'{MATCH}: Unsupported value: "Best": supported values: "Exact", "NotOlderThan", ""'],
    ),
    (
        {MATCH: "Exact", "resourceVersion": "0"},
        [f'{MATCH}: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'],
    ),
    ({"sendInitialEvents": "0"}, [NOT_FOR_LIST]),
    (
        {"sendInitialEvents": "1", MATCH: "NotOlderThan"},
        [f"{MATCH}: Forbidden: {NEEDS_REVISION}", NOT_FOR_LIST],
    ),
    ({"watch": "1", "sendInitialEvents": "1"}, [f"{MATCH}: Forbidden: {NEEDS_MATCH}"]),
    (
        {"watch": "1", "sendInitialEvents": "1", MATCH: "Exact"},
        [f"{MATCH}: Forbidden: {NEEDS_MATCH}", f'{MATCH}: Unsupported value: "Exact": {ONLY_NOT_OLDER}'],
    ),
    ({"watch": "1", MATCH: "NotOlderThan"}, [f"{MATCH}: Forbidden: {ONLY_WITH_INITIAL}"]),
    (
        {"watch": "1", MATCH: "NotOlderThan", "sendInitialEvents": "1", "continue": "x"},
        [f"{MATCH}: Forbidden: {WITH_CONTINUE}"],
    ),
]


@pytest.mark.parametrize(("query", "said"), REFUSED_LISTS)
def test_what_does_not_go_together(query: dict[str, str], said: list[str]) -> None:
    with pytest.raises(ApiError) as refusal:
        list_options(query)
    joined = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    assert (refusal.value.code, refusal.value.reason) == (422, "Invalid")
    assert refusal.value.message == f'ListOptions.meta.k8s.io "" is invalid: {joined}'
    causes = refusal.value.status["details"]["causes"]
    assert [f"{cause['field']}: {cause['message']}" for cause in causes] == said


REVISION = "invalid resource version: resourceVersion: Invalid value: "
UNREADABLE = [
    ({"limit": "many"}, 'strconv.ParseInt: parsing "many": invalid syntax'),
    ({"limit": "9223372036854775808"}, 'strconv.ParseInt: parsing "9223372036854775808": value out of range'),
    ({"timeoutSeconds": "1s"}, 'strconv.ParseInt: parsing "1s": invalid syntax'),
    ({"resourceVersion": "-1"}, f'{REVISION}"-1": strconv.ParseUint: parsing "-1": invalid syntax'),
    ({"resourceVersion": "٣"}, f'{REVISION}"٣": strconv.ParseUint: parsing "٣": invalid syntax'),
    (
        {"resourceVersion": str(2**64)},
        f'{REVISION}"{2**64}": strconv.ParseUint: parsing "{2**64}": value out of range',
    ),
    ({"continue": "x", "resourceVersion": "5"}, "specifying resource version is not allowed when using continue"),
]


@pytest.mark.parametrize(("query", "said"), UNREADABLE)
def test_what_cannot_be_read(query: dict[str, str], said: str) -> None:
    with pytest.raises(ApiError) as refusal:
        list_options(query)
    assert (refusal.value.code, refusal.value.message) == (400, said)


def test_the_revision_of_a_get() -> None:
    assert [seen_revision(query) for query in ({}, {"resourceVersion": ""}, {"resourceVersion": "7"})] == [
        None,
        None,
        7,
    ]
    with pytest.raises(ApiError, match="invalid syntax"):
        seen_revision({"resourceVersion": "x"})


WRITTEN: list[tuple[dict[str, str], WriteOptions]] = [
    ({}, WriteOptions("agent")),
    ({"fieldManager": "me"}, WriteOptions("me")),
    ({"fieldManager": ""}, WriteOptions("agent")),
    ({"dryRun": "All"}, WriteOptions("agent", dry_run=True)),
    ({"dryRun": "All,All"}, WriteOptions("agent", dry_run=True)),
    ({"dryRun": ""}, WriteOptions("agent")),
    ({"fieldValidation": ""}, WriteOptions("agent", validation=WARN)),
    ({"fieldValidation": "Strict"}, WriteOptions("agent", validation=STRICT)),
    ({"fieldValidation": "Ignore"}, WriteOptions("agent", validation=IGNORE)),
    ({"pretty": "true"}, WriteOptions("agent")),
]


@pytest.mark.parametrize(("query", "options"), WRITTEN)
def test_how_something_is_written(query: dict[str, str], options: WriteOptions) -> None:
    assert write_options(query, "agent", "CreateOptions") == msgspec.structs.replace(options, query=query)


MANAGER_NEEDED = "fieldManager: Required value: is required for apply patch"
REFUSED_WRITES: list[tuple[str, bool, dict[str, str], str]] = [
    ("CreateOptions", False, {"dryRun": "some"}, 'dryRun: Unsupported value: ["some"]: supported values: "All"'),
    (
        "CreateOptions",
        False,
        {"dryRun": "All,some"},
        'dryRun: Unsupported value: ["All","some"]: supported values: "All"',
    ),
    (
        "UpdateOptions",
        False,
        {"fieldValidation": "strict"},
        'fieldValidation: Unsupported value: "strict": supported values: "", "Ignore", "Strict", "Warn"',
    ),
    ("CreateOptions", False, {"fieldManager": "x" * 129}, "fieldManager: Too long: may not be more than 128 bytes"),
    ("CreateOptions", False, {"fieldManager": "ü" * 65}, "fieldManager: Too long: may not be more than 128 bytes"),
    (
        "CreateOptions",
        False,
        {"fieldManager": "ü\n"},
        'fieldManager: Invalid value: "ü\\n": invalid character U+000A (at position 2)',
    ),
    ("PatchOptions", False, {"force": "true"}, "force: Forbidden: may not be specified for non-apply patch"),
    ("PatchOptions", False, {"force": "false"}, "force: Forbidden: may not be specified for non-apply patch"),
    ("PatchOptions", True, {}, MANAGER_NEEDED),
    ("PatchOptions", True, {"force": "true"}, MANAGER_NEEDED),
    (
        "PatchOptions",
        True,
        {"dryRun": "x"},
        f'[{MANAGER_NEEDED}, dryRun: Unsupported value: ["x"]: supported values: "All"]',
    ),
]


@pytest.mark.parametrize(("kind", "applies", "query", "said"), REFUSED_WRITES)
def test_invalid_write_options_are_refused(kind: str, applies: bool, query: dict[str, str], said: str) -> None:
    with pytest.raises(ApiError) as refusal:
        write_options(query, "agent", kind, applies=applies)
    assert refusal.value.code == 422
    assert refusal.value.message == f'{kind}.meta.k8s.io "" is invalid: {said}'


def test_an_apply_may_be_forced() -> None:
    query = {"fieldManager": "x" * 128, "force": "true"}
    forced = WriteOptions("x" * 128, force=True, query=query)
    assert write_options(query, "agent", "PatchOptions", applies=True) == forced
    assert write_options({"force": "1"}, "agent", "CreateOptions").force  # nobody minds


DELETED: list[tuple[dict[str, str], dict[str, Any] | None, dict[str, Any]]] = [
    ({}, None, {}),
    ({"gracePeriodSeconds": "0"}, None, {"gracePeriodSeconds": 0}),
    ({"propagationPolicy": "Orphan"}, None, {"propagationPolicy": "Orphan"}),
    ({"propagationPolicy": ""}, None, {}),
    ({"orphanDependents": "false"}, None, {"orphanDependents": False}),
    ({"gracePeriodSeconds": "5"}, {"kind": "DeleteOptions"}, {}),  # the body counts
    ({"gracePeriodSeconds": "5"}, {"gracePeriodSeconds": 7}, {"gracePeriodSeconds": 7}),
    ({"dryRun": "All"}, None, {"dryRun": ("All",)}),
    ({"dryRun": "All"}, {"gracePeriodSeconds": 7}, {"gracePeriodSeconds": 7}),
    ({}, {"gracePeriodSeconds": 7, "dryRun": ["All"]}, {"gracePeriodSeconds": 7, "dryRun": ("All",)}),
]


@pytest.mark.parametrize(("query", "body", "wanted"), DELETED)
def test_how_something_is_deleted(query: dict[str, str], body: dict[str, Any] | None, wanted: dict[str, Any]) -> None:
    options = delete_options(query, body)
    fields = ("gracePeriodSeconds", "propagationPolicy", "orphanDependents", "dryRun")
    found = {name: getattr(options, name) for name in fields}
    assert {name: value for name, value in found.items() if value not in (None, ())} == wanted


@pytest.mark.parametrize(
    ("query", "body", "code"),
    [
        ({"gracePeriodSeconds": "x"}, None, 400),
        ({}, {"kind": "Pod"}, 400),
        ({"dryRun": "x"}, None, 422),
        ({"propagationPolicy": "x"}, None, 422),
        ({"propagationPolicy": "Orphan", "orphanDependents": "1"}, None, 422),
    ],
)
def test_invalid_delete_options_are_refused(query: dict[str, str], body: dict[str, Any] | None, code: int) -> None:
    with pytest.raises(ApiError) as refusal:
        delete_options(query, body)
    assert refusal.value.code == code


TIMEOUTS = [
    ("/api/v1/pods?timeout=invalid", 'time: invalid duration "invalid"'),
    ("/api/v1/pods?timeout=5", 'time: missing unit in duration "5"'),
    ("/version?timeout=1y", 'time: unknown unit "y" in duration "1y"'),
    ("/api/v1/namespaces/d/pods/p?timeout=-", 'time: invalid duration "-"'),
    ("/api/v1/pods?timeout=", ""),
    ("/api/v1/pods?timeout=0s", ""),
    ("/api/v1/pods?timeout=1h30m", ""),
    ("/api/v1/pods?watch=1&timeout=invalid", ""),
    ("/api/v1/watch/pods?timeout=invalid", ""),
    ("/api/v1/namespaces/d/pods/p/log?timeout=invalid", ""),
    ("/api/v1/pods?timeoutSeconds=3", ""),
]


@pytest.mark.parametrize(("target", "why"), TIMEOUTS)
def test_a_timeout_must_be_a_duration_unless_the_request_lasts(target: str, why: str) -> None:
    request = Request("GET", target)
    if not why:
        check_timeout(request, attributes_of(request))
        return
    with pytest.raises(ApiError) as refusal:
        check_timeout(request, attributes_of(request))
    assert refusal.value.code == 400
    assert refusal.value.message == f"invalid timeout specified in the request URL - {why}"
