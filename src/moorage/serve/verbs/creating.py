"""Create an object: admit a document and store it; a generated name that is taken is generated again.

Kubernetes: the create handler and the generic registry's Create.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from moorage.model.api_error import already_exists, bad_request, failure
from moorage.model.kinds import Kind
from moorage.serve.api import Api, Raw, WriteResult
from moorage.serve.options import WriteOptions
from moorage.serve.resources.objects import cached_view, encode, key_of
from moorage.serve.templates import Likeness
from moorage.store.protocol import KeyExists, Stored

_WARNING = (
    ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
)


def name_owners_once(metadata: Raw, *, is_patch: bool = False) -> list[str]:
    """Deduplicate in `metadata`, which is modified, though not its lists; return the warnings."""
    owners = metadata.get("ownerReferences")
    if not isinstance(owners, list) or len(owners) < 2:
        return []
    once: list[Any] = []
    repeated = []
    for owner in owners:
        if owner in once and isinstance(owner, dict):
            repeated.append(str(owner.get("uid") or ""))
        else:
            once.append(owner)
    if not repeated:
        return []
    metadata["ownerReferences"] = once
    when = " after mutating admission happens" if is_patch else ""
    return [_WARNING.format(when=when, uids=", ".join(repeated))]


_NAMES_TRIED = 8
#: Kinds with CEL expressions that are compiled when they are admitted, and how many characters of them are many.
_WITH_EXPRESSIONS = frozenset({"DeviceClass", "ResourceClaim", "ResourceClaimTemplate"})
_MANY = 8 * 1024


def has_much_cel(kind: Kind, document: Any) -> bool:
    """True if the expressions of a document or patch take so long to compile that the server must answer meanwhile."""
    if kind.name not in _WITH_EXPRESSIONS:
        return False
    total, waiting = 0, [document.get("spec") if isinstance(document, dict) else document]
    while waiting and total <= _MANY:
        value = waiting.pop()
        if isinstance(value, dict):
            expression = value.get("expression")
            total += len(expression) if isinstance(expression, str) else 0
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return total > _MANY


async def create(
    api: Api,
    kind: Kind,
    namespace: str,
    raw: Raw,
    options: WriteOptions,
    warnings: Sequence[str] = (),
    *,
    is_owned: bool = False,
    like: Likeness | None = None,
) -> WriteResult:
    """Create an object from `raw`, which is modified. With `is_owned` it has its managedFields. Raises ApiError."""
    metadata = raw["metadata"]
    check_namespace(kind, namespace, metadata)
    if metadata.get("resourceVersion"):
        raise bad_request("resourceVersion should not be set on objects to be created")
    warnings = (*warnings, *name_owners_once(metadata))
    is_generated = not metadata.get("name") and metadata.get("generateName")
    for _ in range(_NAMES_TRIED if is_generated else 1):
        manager = None if is_owned else options.manager
        if has_much_cel(kind, raw):
            admitted, template = await asyncio.to_thread(api.admit_new, kind, raw, namespace, manager, like)
        else:
            admitted, template = api.admit_new(kind, raw, namespace, manager, like)
        name = admitted.object["metadata"]["name"]
        key = key_of(kind, namespace, name)
        all_warnings = (*warnings, *admitted.warnings)
        value = encode(kind, admitted.object) if template is None else template.encode(admitted.object["metadata"])
        if options.dry_run:
            if await api.store.get(key) is None:
                return WriteResult(Stored(key, value, 0, 0, admitted.view), all_warnings, created=True)
            continue
        try:
            stored = await api.store.create(key, value, cached_view(kind, admitted.view), template)
        except KeyExists:
            continue
        api.directory.learn(kind, stored)
        return WriteResult(stored, all_warnings, created=True)
    if is_generated:
        why = "the server was not able to generate a unique name for the object"
        raise failure(409, "AlreadyExists", f'{kind.plural} "{name}" already exists, {why}')
    raise already_exists(kind, name)


def check_namespace(kind: Kind, namespace: str, metadata: Raw) -> None:
    """Check that the document names no other namespace than the path, and set it.

    Of a kind without namespaces, it is dropped.
    """
    if not kind.namespaced:
        metadata.pop("namespace", None)
        return
    given = metadata.get("namespace")
    if not namespace:
        raise bad_request("namespace is required for this request")
    if given and given != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    metadata["namespace"] = namespace
