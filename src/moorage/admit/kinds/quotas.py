"""Validate ResourceQuotas and their status.

Kubernetes: ValidateResourceQuota, resourcequotaStrategy. Differs: errors come in the order of resource names.
"""

from collections.abc import Iterator, Mapping

from moorage.admit.kinds.row import KindRow, Rows, ungated
from moorage.admit.messages.internal_form import internal_form
from moorage.admit.metadata import FIELD_IS_IMMUTABLE, validate_object_meta, validate_object_meta_update
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.resources import resource_rules, validate_quantity
from moorage.admit.prepare.resource_defaults import round_up_lists
from moorage.admit.raw import Raw
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, invalid, required
from moorage.model.gates import GateSet
from moorage.model.quantity import Quantity
from moorage.model.types.policy import ResourceQuota, ResourceQuotaSpec, ScopeSelector

_POD_AMOUNTS = frozenset({"cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory", "pods"})
_CLAIM_AMOUNTS = frozenset({"persistentvolumeclaims", "requests.storage"})
_STANDARD = (
    _POD_AMOUNTS
    | _CLAIM_AMOUNTS
    | {"ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage"}
    | {"configmaps", "replicationcontrollers", "resourcequotas", "secrets"}
    | {"services", "services.nodeports", "services.loadbalancers"}
)
#: The scopes there are, and the standard amounts that each can be applied to.
_SCOPES: Mapping[str, frozenset[str]] = {
    "Terminating": _POD_AMOUNTS,
    "NotTerminating": _POD_AMOUNTS,
    "BestEffort": frozenset({"pods"}),
    "NotBestEffort": _POD_AMOUNTS,
    "PriorityClass": _POD_AMOUNTS,
    "VolumeAttributesClass": _CLAIM_AMOUNTS,
    "CrossNamespacePodAffinity": _POD_AMOUNTS,
}
_WITH_VALUES = ("PriorityClass", "VolumeAttributesClass")
_OPPOSITES = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_MUST_EXIST = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
_VALUES_NEEDED = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
_NO_VALUES = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
_MISAPPLIED = "unsupported scope applied to resource"
_WARNED = ("cpu", "memory", "storage", "ephemeral-storage")


def default_quota(quota: Raw) -> None:
    round_up_lists(quota.get("spec"), "hard")
    round_up_lists(quota.get("status"), "hard", "used")


def prepare_quota(new: Raw, old: Raw | None, gates: GateSet) -> None:
    new["status"] = {} if old is None else old.get("status") or {}


def validate_quota(quota: ResourceQuota, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(quota.metadata, "metadata")
    yield from _validate_spec(quota.spec)
    yield from _validate_amounts(quota.status.hard, "status.hard")
    yield from _validate_amounts(quota.status.used, "status.used")


def validate_quota_update(new: ResourceQuota, old: ResourceQuota, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_spec(new.spec)
    if set(new.spec.scopes) != set(old.spec.scopes):
        yield invalid("spec.scopes", AsJSON(new.spec.scopes), FIELD_IS_IMMUTABLE)


def validate_quota_status(new: ResourceQuota, old: ResourceQuota) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_amounts(new.status.hard, "status.hard")
    yield from _validate_amounts(new.status.used, "status.used")


def _validate_spec(spec: ResourceQuotaSpec) -> FieldErrors:
    yield from _validate_amounts(spec.hard, "spec.hard")
    yield from _validate_scopes(spec)
    if spec.scopeSelector is not None:
        yield from _validate_selector(spec, spec.scopeSelector)


def _validate_amounts(amounts: Mapping[str, Quantity], path: str) -> FieldErrors:
    for name, amount in sorted(amounts.items(), key=lambda item: item[0]):
        at, rules = f"{path}[{name}]", resource_rules(name)
        yield from [invalid(at, AsJSON(name), message) for message in rules.name_errors]
        if "/" not in name and not _is_standard(name):
            yield invalid(at, AsJSON(name), "must be a standard resource for quota")
        yield from validate_quantity(amount, at, is_whole=rules.is_whole)


def _is_standard(name: str) -> bool:
    return name in _STANDARD or name.startswith(("hugepages-", "requests.hugepages-"))


def _misapplied(scope: str, spec: ResourceQuotaSpec) -> int:
    """Return how many of the quota's standard amounts the scope cannot be applied to."""
    allowed = _SCOPES.get(scope)
    return 0 if allowed is None else sum(_is_standard(name) and name not in allowed for name in spec.hard)


def _validate_scopes(spec: ResourceQuotaSpec) -> Iterator[FieldError]:
    shown = AsJSON(spec.scopes)
    for scope in spec.scopes:
        if scope not in _SCOPES:
            yield invalid("spec.scopes", shown, "unsupported scope")
        yield from [invalid("spec.scopes", shown, _MISAPPLIED)] * _misapplied(scope, spec)
    for pair in _OPPOSITES:
        if set(pair) <= set(spec.scopes):
            yield invalid("spec.scopes", shown, "conflicting scopes")


def _validate_selector(spec: ResourceQuotaSpec, selector: ScopeSelector) -> Iterator[FieldError]:
    path = "spec.scopeSelector.matchExpressions"
    for requirement in selector.matchExpressions:
        scope, operator, values = requirement.scopeName, requirement.operator, requirement.values
        if scope not in _SCOPES:
            yield invalid(f"{path}.scopeName", AsJSON(scope), "unsupported scope")
        shown = AsJSON(internal_form(selector))
        yield from [invalid(path, shown, _MISAPPLIED)] * _misapplied(scope, spec)
        if scope in _SCOPES and scope not in _WITH_VALUES and operator != "Exists":
            yield invalid(f"{path}.operator", AsJSON(operator), _MUST_EXIST)
        if operator in ("In", "NotIn"):
            if not values:
                yield required(f"{path}.values", _VALUES_NEEDED)
        elif operator not in ("Exists", "DoesNotExist"):
            yield invalid(f"{path}.operator", AsJSON(operator), "not a valid selector operator")
        elif values:
            yield invalid(f"{path}.values", AsJSON(values), _NO_VALUES)
    scopes = {requirement.scopeName for requirement in selector.matchExpressions}
    for pair in _OPPOSITES:
        if scopes.issuperset(pair):
            yield invalid(path, AsJSON(spec.scopes), "conflicting scopes")


def quota_warnings(quota: ResourceQuota) -> list[str]:
    """Warn where more can be requested than limited."""
    hard = quota.spec.hard
    warnings = []
    for name in _WARNED:
        asked, limited = f"requests.{name}", f"limits.{name}"
        if asked not in hard and name in ("cpu", "memory"):
            asked = name
        request, limit = hard.get(asked), hard.get(limited)
        if request is not None and limit is not None and request > limit:
            warnings.append(f"ResourceQuota {asked} ({request}) should be less than {limited} ({limit})")
    return warnings


ROWS: Rows = {
    ResourceQuota: KindRow(
        validate_quota,
        validate_quota_update,
        default_quota,
        prepare_quota,
        validate_status=ungated(validate_quota_status),
        create_warnings=quota_warnings,
    )
}
