"""Tell whether work on a document takes so long that other clients should not wait for it: several milliseconds.

What is large by its text is told by `long_work.is_large`. Here is what a small document may cause: expressions that are
compiled or evaluated, schemas, the first import of CEL.
"""

import sys
from typing import Any

import msgspec

from moorage.admit.raw import Raw
from moorage.model.kinds import KINDS, Kind
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.requests.long_work import is_large
from moorage.serve.resources.objects import decode
from moorage.serve.templates.pods import Likeness
from moorage.store.protocol import Stored

_encode_sorted = msgspec.json.Encoder(order="sorted").encode

_LARGE_POD = 32 * 1024
#: Kinds with CEL expressions that are compiled when they are admitted, where these may be, and how many characters of
#: them are many: they take about ten milliseconds.
_TEMPLATE = ("spec", "template", "spec", "tolerations")
_WITH_EXPRESSIONS: dict[str, tuple[str, ...]] = {
    "DeviceClass": ("spec",),
    "ResourceClaim": ("spec",),
    "ResourceClaimTemplate": ("spec",),
    "Pod": ("spec", "tolerations"),
    "CronJob": ("spec", "jobTemplate", *_TEMPLATE),
    "ValidatingAdmissionPolicy": ("spec",),
    "MutatingAdmissionPolicy": ("spec",),
    "ValidatingWebhookConfiguration": ("webhooks",),
    "MutatingWebhookConfiguration": ("webhooks",),
    **dict.fromkeys(
        ("DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"), _TEMPLATE
    ),
}
#: Kinds without a pod template whose objects controllers make large.
_LARGE_BY_CONTROLLERS = frozenset(("ControllerRevision", "Endpoints"))
#: Kinds of which a controller makes many at the same time, each in some milliseconds.
MADE_TOGETHER = frozenset(("EndpointSlice",))
_EXPRESSION_FIELDS = ("expression", "messageExpression", "valueExpression")
_MANY = 1024
#: A schema of this size takes some ten milliseconds to validate.
_LARGE_DEFINITION = 8 * 1024
#: A custom object of this size may be much work for the rules of its schema.
_LARGE_WITH_RULES = 4 * 1024
_EXPRESSION = b'xpression":'
_CEL = "moorage.match.cel.program"
#: What the first definition imports, besides CEL.
_OF_DEFINITIONS = "moorage.custom.definition.definition"


def has_much_cel(kind: Kind, document: Any) -> bool:
    """Return whether compiling the expressions of a document or patch takes too long to let other requests wait.

    So does the very first one, for which CEL has to be imported.
    """
    if type(kind) is ServedKind:
        return kind.is_heavy or (kind.has_rules and len(_encode_sorted(document)) > _LARGE_WITH_RULES)
    path = _WITH_EXPRESSIONS.get(kind.name)
    if path is None:
        return False
    if isinstance(document, dict):
        for field in path:
            document = document.get(field) if isinstance(document, dict) else None
            if not document:
                return False
    total, waiting = 0, [document]
    while waiting and total <= _MANY:
        value = waiting.pop()
        if isinstance(value, dict):
            for field in _EXPRESSION_FIELDS:
                expression = value.get(field)
                total += len(expression) if isinstance(expression, str) else 0
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return total > (_MANY if _CEL in sys.modules else 0)


def document_takes_long(kind: Kind, raw: Raw) -> bool:
    """Return whether admitting a document takes long, which may have come without its text, as a controller's."""
    if kind is KINDS.CUSTOM_RESOURCE_DEFINITION:
        return _OF_DEFINITIONS not in sys.modules or len(_encode_sorted(raw)) > _LARGE_DEFINITION
    if (kind.template is not None or kind.name in _LARGE_BY_CONTROLLERS) and is_large(_encode_sorted(raw)):
        return True
    return has_much_cel(kind, raw)


def pod_takes_long(kind: Kind, raw: Raw, like: Likeness) -> bool:
    """Return the same of a new pod, whose text has been seen already."""
    return len(like.fingerprint) > _LARGE_POD or has_much_cel(kind, raw)


def change_takes_long(kind: Kind, stored: Stored) -> bool:
    """Return whether changing a stored object takes long, whatever the change is."""
    if kind is KINDS.CUSTOM_RESOURCE_DEFINITION:
        return len(stored.value) > _LARGE_DEFINITION
    if is_large(stored.value):
        return True
    if type(kind) is ServedKind:
        return kind.is_heavy or (kind.has_rules and len(stored.value) > _LARGE_WITH_RULES)
    has_expressions = kind.name in _WITH_EXPRESSIONS and _EXPRESSION in stored.value
    return has_expressions and has_much_cel(kind, decode(kind, stored))
