"""Ask the API server what the kubeconfig may do, so that the page offers nothing else.

Answers are kept for half a minute. Kubernetes: SelfSubjectAccessReview, as kubectl auth can-i.
"""

import asyncio
from typing import Any

from moorage.client.protocol import Client, Raw, Unreachable
from moorage.dashboard.actions.context import ActionContext, ActionError, Right
from moorage.dashboard.actions.steps import CHANGEABLE
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, VIRTUAL_KINDS
from moorage.model.types.request import SelfSubjectAccessReview

MAX_ASKED = 100
KEPT_SECONDS = 30.0
_MAX_KEPT = 10_000
_VERBS = ("get", "patch", "create", "delete")
_REVIEW = next(kind for kind in VIRTUAL_KINDS if kind.view is SelfSubjectAccessReview)


async def rights(body: Raw, context: ActionContext) -> Raw:
    """Answer each of `asks` (verb, apiVersion, kind, namespace, name), in their order. Raises ActionError."""
    asks = body.get("asks")
    if not isinstance(asks, list) or len(asks) > MAX_ASKED:
        raise ActionError(400, f'"asks" is not a list of at most {MAX_ASKED} rights')
    asked_rights = [_right(ask, position) for position, ask in enumerate(asks)]
    client, _ = context.clients()
    now = context.clock()
    if len(context.known_rights) > _MAX_KEPT:
        context.known_rights.clear()
    missing = [
        right
        for right in dict.fromkeys(asked_rights)
        if right not in context.known_rights or context.known_rights[right][0] + KEPT_SECONDS <= now
    ]
    for right, answer in zip(missing, await asyncio.gather(*(_ask(client, ask) for ask in missing)), strict=True):
        context.known_rights[right] = (now, *answer)
    answers = [context.known_rights[right] for right in asked_rights]
    return {
        "rights": [{"allowed": allowed, "reason": reason} for _, allowed, reason in answers],
        "changes": context.allow_changes,
    }


def _right(given: Any, position: int) -> Right:
    fields = ("verb", "apiVersion", "kind", "namespace", "name")
    texts: list[Any] = [given.get(field, "") for field in fields] if isinstance(given, dict) else []
    if not texts or not all(isinstance(text, str) for text in texts):
        raise ActionError(400, f"asks[{position}] is no right: {', '.join(fields)}")
    verb, api_version, kind_name, namespace, name = texts
    kind = KINDS.get((api_version, kind_name))
    if verb not in _VERBS or kind is None or kind_name not in CHANGEABLE:
        raise ActionError(400, f"asks[{position}]: nothing here needs to {verb} a {kind_name} ({api_version})")
    return verb, kind.group, kind.plural, namespace, name


async def _ask(client: Client, right: Right) -> tuple[bool, str]:
    verb, group, resource, namespace, name = right
    fields = {"verb": verb, "group": group, "resource": resource, "namespace": namespace, "name": name}
    attributes = {field: value for field, value in fields.items() if value}
    document: Raw = {
        "apiVersion": _REVIEW.api_version,
        "kind": _REVIEW.name,
        "metadata": {},
        "spec": {"resourceAttributes": attributes},
    }
    try:
        review = await client.create(_REVIEW, document)
    except (ApiError, Unreachable) as error:
        return False, f"it cannot be found out whether this is allowed: {error}"
    status = review.raw.get("status") or {}
    allowed = bool(status.get("allowed"))
    where = f" in namespace {namespace}" if namespace else ""
    return allowed, "" if allowed else f"the kubeconfig may not {verb} {resource}{where}"
