"""Read the options of a request from its query or its body: selectors, pages, dry runs, field managers, preconditions.

Kubernetes: metav1's ListOptions, CreateOptions, PatchOptions and DeleteOptions with their validation.
"""

from collections.abc import Mapping

import msgspec

from moorage.admit.kinds.devices.claim_rights import StatusWriter
from moorage.admit.metadata import validate_field_manager
from moorage.admit.requester import Requester
from moorage.admit.subresources.deletion import read_delete_options
from moorage.model.api_error import ApiError, Raw, bad_request, failure
from moorage.model.field_error import FieldError, forbidden, not_supported, required
from moorage.model.go.integers import UINT64_MAX, read_int
from moorage.model.go.quoting import go_quote
from moorage.model.go.times import DurationError, parse_duration
from moorage.model.text.patterns import whole
from moorage.model.types.request import DeleteOptions
from moorage.serve.access.authorization import Attributes
from moorage.serve.access.guard import WriteGuard
from moorage.serve.http.messages import Request, is_flag_set
from moorage.serve.pki.authentication import User

Query = Mapping[str, str]

_is_integer = whole(r"[+-]?[0-9]{1,19}")
STRICT, WARN, IGNORE = "Strict", "Warn", "Ignore"
#: Subresources whose requests end when the client wants.
_LASTING = frozenset(["attach", "exec", "log", "portforward", "proxy"])
#: For components in this process, whose fields are not checked.
TRUST = "Trust"
EXACT, NOT_OLDER_THAN = "Exact", "NotOlderThan"


class ListOptions(msgspec.Struct, frozen=True):
    """Which objects, at which revision, how many at once. `resource_version` is None if it was not given."""

    labels: str = ""
    fields: str = ""
    limit: int = 0
    continues: str = ""
    resource_version: int | None = None
    match: str = ""
    watch: bool = False
    bookmarks: bool = False
    initial_events: bool | None = None
    timeout_seconds: int | None = None


class WriteOptions(msgspec.Struct, frozen=True):
    """Options of a create, update or patch. `manager` owns the fields that it sets; `guard` checks rights.

    `requester` is noted in kinds that record who has created them. `restricted` is the requester, if admission plugins
    decide by it; `claim_writer`, if its rights decide about parts of a ResourceClaim's status. `user` makes the
    request, by default the API server itself; `query` is what was sent, and `version` that of the resource in the path
    if it is an older one: policies and webhooks see them. They are not asked about what `is_internal`: the API server's
    own records, without which it could not start.
    """

    manager: str = "unknown"
    dry_run: bool = False
    validation: str = WARN
    force: bool | None = None
    guard: WriteGuard | None = None
    requester: User | None = None
    restricted: Requester | None = None
    claim_writer: StatusWriter | None = None
    user: User | None = None
    query: Query = {}
    version: str = ""
    is_internal: bool = False


def manager_of(request: Request) -> str:
    """Return the field manager of a request that names none: the first word of its user agent."""
    agent = request.headers.get("user-agent", "")
    name = agent.partition("/")[0][:128]
    return name if name and name.isprintable() else "unknown"


def query_of(request: Request) -> dict[str, str]:
    """Each parameter once; only `dryRun` may be given several times."""
    if not request.query_text:
        return {}
    query = request.query
    return {name: ",".join(query.all(name)) if name == "dryRun" else query.get(name) for name in query.names()}


def check_timeout(request: Request, asked: Attributes) -> None:
    """Refuse a `timeout` that is no duration, unless the request may last. Raises ApiError 400.

    Kubernetes: WithRequestDeadline. Differs: what is accepted is not enforced, because requests end soon.
    """
    text = request.query.get("timeout")
    if not text or asked.verb == "watch" or asked.subresource in _LASTING:
        return
    try:
        parse_duration(text)
    except DurationError as error:
        raise bad_request(f"invalid timeout specified in the request URL - {error}") from None


def list_options(query: Query) -> ListOptions:
    """Read list options. Raises ApiError 400 for values that do not parse, 422 for combinations that are invalid."""
    if not query:
        return ListOptions()
    is_watch = _boolean(query, "watch") or False
    options = ListOptions(
        labels=query.get("labelSelector", ""),
        fields=query.get("fieldSelector", ""),
        limit=max(0, _integer(query, "limit") or 0),
        continues=query.get("continue", ""),
        resource_version=_resource_version(query, "" if is_watch else "invalid resource version: "),
        match=query.get("resourceVersionMatch", ""),
        watch=is_watch,
        bookmarks=_boolean(query, "allowWatchBookmarks") or False,
        initial_events=_boolean(query, "sendInitialEvents"),
        timeout_seconds=_integer(query, "timeoutSeconds"),
    )
    _refuse("ListOptions", _list_errors(options))
    if options.continues and options.resource_version and not options.watch:
        raise bad_request("specifying resource version is not allowed when using continue")
    return options


def seen_revision(query: Query) -> int | None:
    """Return the revision that a get must not be older than, 0 for any, None for the newest. Raises ApiError 400."""
    return _resource_version(query)


def write_options(
    query: Query, manager: str, kind: str, *, applies: bool = False, user: User | None = None, version: str = ""
) -> WriteOptions:
    """Read write options. `manager` is used if the query names none; `kind` is for the error's text."""
    if not query and not applies:
        return WriteOptions(manager, user=user, version=version)
    named = query.get("fieldManager", "")
    validation = query.get("fieldValidation", "") or WARN
    force = _boolean(query, "force")
    errors = []
    if applies and not named:
        errors.append(required("fieldManager", "is required for apply patch"))
    if not applies and force is not None and kind == "PatchOptions":
        errors.append(forbidden("force", "may not be specified for non-apply patch"))
    errors += [*validate_field_manager(named, "fieldManager"), *_dry_run_errors(query)]
    if validation not in (STRICT, WARN, IGNORE):
        errors.append(not_supported("fieldValidation", validation, ("", IGNORE, STRICT, WARN)))
    _refuse(kind, errors)
    return WriteOptions(
        named or manager,
        "dryRun" in query and bool(query["dryRun"]),
        validation,
        force,
        user=user,
        query=query,
        version=version,
    )


def delete_options(query: Query, body: Raw | None) -> DeleteOptions:
    """Read delete options from the body, or else from the query: `dryRun` there means nothing beside a body.

    Raises ApiError.
    """
    document: Raw = dict(body) if body else {}
    if not body:
        for name, value in (
            ("gracePeriodSeconds", _integer(query, "gracePeriodSeconds")),
            ("propagationPolicy", query.get("propagationPolicy")),
            ("orphanDependents", _boolean(query, "orphanDependents")),
        ):
            if value is not None and value != "":
                document[name] = value
        if query.get("dryRun"):
            document["dryRun"] = query["dryRun"].split(",")
    elif body.get("kind", "DeleteOptions") != "DeleteOptions":
        raise bad_request(f"the body of a delete is a DeleteOptions, not a {body['kind']}")
    return read_delete_options(document)


def _list_errors(options: ListOptions) -> list[FieldError]:
    errors = []
    starts = options.initial_events is not None
    if options.watch:
        if starts and options.match != NOT_OLDER_THAN:
            errors.append(_no_match(f"sendInitialEvents requires setting resourceVersionMatch to {NOT_OLDER_THAN}"))
        if options.match and not starts:
            errors.append(_no_match("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"))
        if options.match not in ("", NOT_OLDER_THAN):
            errors.append(not_supported("resourceVersionMatch", options.match, (NOT_OLDER_THAN,)))
        if options.match and options.continues:
            errors.append(_no_match("resourceVersionMatch is forbidden when continue is provided"))
        return errors
    if options.match:
        if options.resource_version is None:
            errors.append(_no_match("resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if options.continues:
            errors.append(_no_match("resourceVersionMatch is forbidden when continue is provided"))
        if options.match not in (EXACT, NOT_OLDER_THAN):
            errors.append(not_supported("resourceVersionMatch", options.match, (EXACT, NOT_OLDER_THAN, "")))
        elif options.match == EXACT and options.resource_version == 0:
            errors.append(_no_match('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if starts:
        errors.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _no_match(why: str) -> FieldError:
    return forbidden("resourceVersionMatch", why)


def _dry_run_errors(query: Query) -> list[FieldError]:
    dry_run = query.get("dryRun", "")
    if dry_run in ("", "All") or set(dry_run.split(",")) == {"All"}:
        return []
    return [not_supported("dryRun", dry_run.split(","), ("All",))]


def _refuse(kind: str, errors: list[FieldError]) -> None:
    if errors:
        text = str(errors[0]) if len(errors) == 1 else f"[{', '.join(map(str, errors))}]"
        causes = [{"reason": error.kind.reason, "message": error.body, "field": error.path} for error in errors]
        details = {"group": "meta.k8s.io", "kind": kind, "causes": causes}
        raise failure(422, "Invalid", f'{kind}.meta.k8s.io "" is invalid: {text}', details)


def _integer(query: Query, name: str) -> int | None:
    text = query.get(name, "")
    if not text:
        return None
    if not _is_integer(text):
        raise _unreadable("strconv.ParseInt", text, "invalid syntax")
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise _unreadable("strconv.ParseInt", text, "value out of range")
    return number


def _resource_version(query: Query, prefix: str = "") -> int | None:
    text = query.get("resourceVersion", "")
    if not text:
        return None
    if complaint := revision_complaint(text):
        raise bad_request(f"{prefix}resourceVersion: Invalid value: {go_quote(text)}: {complaint}")
    return int(text)


def revision_complaint(text: str) -> str:
    """Return why a text is not a resourceVersion, as `strconv.ParseUint` does, or ""."""
    why = "" if text.isascii() and text.isdigit() else "invalid syntax"
    if not why and read_int(text, 0, UINT64_MAX) is None:
        why = "value out of range"
    return f"strconv.ParseUint: parsing {go_quote(text)}: {why}" if why else ""


def _boolean(query: Query, name: str) -> bool | None:
    text = query.get(name)
    return None if text is None else is_flag_set(text)


def _unreadable(function: str, text: str, why: str) -> ApiError:
    return bad_request(f"{function}: parsing {go_quote(text)}: {why}")
