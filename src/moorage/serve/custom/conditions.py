"""Compute the status of a definition: accepted names, and NamesAccepted, Established and Terminating.

A name is taken if another definition of the group has it. Kubernetes: apiextensions-apiserver, pkg/controller/status,
establish, apiapproval and finalizer. Differs: a definition whose names are accepted is established at once.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from moorage.model.go.quoting import go_quote
from moorage.model.well_known.annotations import API_APPROVED

Raw = dict[str, Any]

FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
_PROTECTED = ("k8s.io", "kubernetes.io")
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"


class DefinitionCondition(NamedTuple):
    """A condition of a definition, without its times."""

    type: str
    status: str
    reason: str
    message: str


DELETION_PENDING: Final = DefinitionCondition(
    "Terminating",
    "True",
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)
DELETION_RUNS: Final = DefinitionCondition(
    "Terminating", "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"
)
DELETION_DONE: Final = DefinitionCondition("Terminating", "False", "InstanceDeletionCompleted", "removed all instances")
NEVER_ESTABLISHED: Final = DefinitionCondition(
    "Terminating", "False", "NeverEstablished", "resource was never established"
)


def deletion_failed(why: str) -> DefinitionCondition:
    return DefinitionCondition("Terminating", "True", "InstanceDeletionFailed", f"could not issue all deletes: {why}")


def with_conditions(status: Raw, added: Iterable[DefinitionCondition], now: str) -> Raw:
    """Return the status with these conditions; one that has the same status keeps the time of its last transition."""
    conditions = {one.get("type"): one for one in status.get("conditions") or ()}
    for condition in added:
        old = conditions.get(condition.type) or {}
        keeps = old.get("status") == condition.status and old.get("lastTransitionTime")
        conditions[condition.type] = {
            "lastTransitionTime": old["lastTransitionTime"] if keeps else now,
            "message": condition.message,
            "reason": condition.reason,
            "status": condition.status,
            "type": condition.type,
        }
    return {**status, "conditions": list(conditions.values())}


def next_status(definition: Raw, others: Sequence[Raw], now: str) -> Raw:
    """Return the status that a definition gets beside these accepted names of others in its group."""
    spec, status = definition["spec"], definition.get("status") or {}
    wanted: Raw = spec["names"]
    accepted: Raw = {name: value for name, value in (status.get("acceptedNames") or {}).items() if value}
    conditions: list[DefinitionCondition] = []
    established = _condition(status, "Established")
    if wanted != accepted:
        accepted, naming = _accept(wanted, accepted, others)
        conditions.append(naming)
    else:
        naming = _condition(status, "NamesAccepted") or DefinitionCondition("", "True", "", "")
    if established is None or established.status != "True":
        if naming.status == "True":
            text = "the initial names have been accepted"
            conditions.append(DefinitionCondition("Established", "True", "InitialNamesAccepted", text))
        else:
            conditions.append(DefinitionCondition("Established", "False", "NotAccepted", "not all names are accepted"))
    if (approval := _approval(definition)) is not None:
        conditions.append(approval)
    return with_conditions({**status, "acceptedNames": accepted or {"kind": "", "plural": ""}}, conditions, now)


def _condition(status: Raw, name: str) -> DefinitionCondition | None:
    for condition in status.get("conditions") or ():
        if condition.get("type") == name:
            return DefinitionCondition(
                name, condition.get("status") or "", condition.get("reason") or "", condition.get("message") or ""
            )
    return None


def _accept(wanted: Raw, accepted: Raw, others: Sequence[Raw]) -> tuple[Raw, DefinitionCondition]:
    resources, kinds = set[str](), set[str]()
    for names in others:
        resources |= {names.get("plural") or "", names.get("singular") or "", *(names.get("shortNames") or ())}
        kinds |= {names.get("kind") or "", names.get("listKind") or ""}
    resources.discard("")
    kinds.discard("")
    new, naming = dict(accepted), DefinitionCondition("NamesAccepted", "True", "NoConflicts", "no conflicts found")
    for field, reason, used in (
        ("plural", "PluralConflict", resources),
        ("singular", "SingularConflict", resources),
        ("shortNames", "ShortNamesConflict", resources),
        ("kind", "KindConflict", kinds),
        ("listKind", "ListKindConflict", kinds),
    ):
        value, before = wanted.get(field), accepted.get(field)
        several = value if isinstance(value, list) else [value or ""]
        kept = before if isinstance(before, list) else [before or ""]
        taken = [f"{go_quote(name)} is already in use" for name in several if name not in kept and name in used]
        if taken:
            text = taken[0] if len(taken) == 1 else f"[{', '.join(dict.fromkeys(taken))}]"
            naming = DefinitionCondition("NamesAccepted", "False", reason, text)
        elif value:
            new[field] = value
        else:
            new.pop(field, None)
    if wanted.get("categories"):
        new["categories"] = wanted["categories"]
    else:
        new.pop("categories", None)
    return new, naming


def _approval(definition: Raw) -> DefinitionCondition | None:
    """Return the condition of a definition in a group of the Kubernetes community, which needs an annotation."""
    group = definition["spec"]["group"]
    if not any(group == one or group.endswith(f".{one}") for one in _PROTECTED):
        return None
    given = (definition["metadata"].get("annotations") or {}).get(API_APPROVED) or ""
    name = "KubernetesAPIApprovalPolicyConformant"
    if not given:
        text = f"protected groups must have approval annotation {go_quote(API_APPROVED)}, {_SEE}"
        return DefinitionCondition(name, "False", "MissingAnnotation", text)
    if given.startswith("unapproved"):
        return DefinitionCondition(name, "False", "UnapprovedAnnotation", f"not approved: {go_quote(given)}")
    if _is_url(given):
        return DefinitionCondition(name, "True", "ApprovedAnnotation", f"approved in {given}")
    text = f'{go_quote(API_APPROVED)} with either a URL or a reason starting with "unapproved", {_SEE}'
    return DefinitionCondition(
        name, "False", "InvalidAnnotation", f"protected groups must have approval annotation {text}"
    )


def _is_url(text: str) -> bool:
    try:
        address = urlsplit(text)
    except ValueError:
        return False
    return bool(address.scheme and address.netloc)
