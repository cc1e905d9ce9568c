"""Validate FlowSchemas and PriorityLevelConfigurations.

In: views. Out: field errors. Kubernetes: ValidateFlowSchema and ValidatePriorityLevelConfiguration.
"""

from math import ceil, log2

from moorage.admit.kinds.row import KindRow, Rows
from moorage.admit.messages.rejections import internal_form
from moorage.admit.metadata import label_errors, validate_dns_label, validate_dns_subdomain, validate_object_meta
from moorage.admit.options import ValidationOptions
from moorage.admit.prepare import kind_defaults as defaults
from moorage.admit.prepare import strategies
from moorage.admit.raw import Raw
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldError, FieldErrors
from moorage.model.gates import GateSet
from moorage.model.schema.conversion import convert_view
from moorage.model.types.extension import api_server as views

EXEMPT, CATCH_ALL = "exempt", "catch-all"
_LARGEST_PRECEDENCE = 10_000
_METHODS = ("ByNamespace", "ByUser")
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
_TYPES, _RESPONSES = ("Exempt", "Limited"), ("Queue", "Reject")
_MAX_QUEUES, _MAX_BITS = 10_000_000, 60
_ROUND_TRIP = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"


def everything() -> Raw:
    """Return the rules that all requests match."""
    resources = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    return {"resourceRules": [resources], "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}]}


def groups_named(*names: str) -> list[Raw]:
    """Return groups of users as subjects of a rule."""
    return [{"kind": "Group", "group": {"name": name}} for name in names]


_ALL_USERS = groups_named("system:unauthenticated", "system:authenticated")

#: The specs that these two must have.
MANDATORY_SCHEMAS: dict[str, Raw] = {
    EXEMPT: {
        "priorityLevelConfiguration": {"name": EXEMPT},
        "matchingPrecedence": 1,
        "rules": [{"subjects": groups_named("system:masters"), **everything()}],
    },
    CATCH_ALL: {
        "priorityLevelConfiguration": {"name": CATCH_ALL},
        "matchingPrecedence": 10_000,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [{"subjects": _ALL_USERS, **everything()}],
    },
}
MANDATORY_LEVELS: dict[str, Raw] = {
    EXEMPT: {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}},
    CATCH_ALL: {
        "type": "Limited",
        "limited": {"nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"}},
    },
}


def validate_flow_schema(schema: views.FlowSchema, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(schema.metadata, "metadata", namespaced=False)
    name, spec = schema.metadata.name, schema.spec
    yield from _validate_schema_spec(name, spec)
    fixed = MANDATORY_SCHEMAS.get(name)
    if fixed is not None and spec != convert_view(fixed, views.FlowSchemaSpec):
        yield field.invalid("spec", AsJSON(internal_form(spec)), f"spec of '{name}' must equal the fixed value")


def validate_flow_schema_update(
    new: views.FlowSchema, old: views.FlowSchema, options: ValidationOptions
) -> FieldErrors:
    return validate_flow_schema(new, options)


def _validate_schema_spec(name: str, spec: views.FlowSchemaSpec) -> FieldErrors:
    path, precedence = "spec.matchingPrecedence", spec.matchingPrecedence
    if precedence <= 0:
        yield field.invalid(path, precedence, "must be a positive value")
    if precedence > _LARGEST_PRECEDENCE:
        yield field.invalid(path, precedence, f"must not be greater than {_LARGEST_PRECEDENCE}")
    if precedence == 1 and name != EXEMPT:
        yield field.invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")
    method = spec.distinguisherMethod
    if method is not None and method.type not in _METHODS:
        yield field.not_supported("spec.distinguisherMethod.type", AsJSON(internal_form(method)), _METHODS)
    level = spec.priorityLevelConfiguration.name
    if level:
        yield from validate_dns_subdomain(level, "spec.priorityLevelConfiguration.name")
    else:
        yield field.required("spec.priorityLevelConfiguration.name", "must reference a priority level")
    for index, rule in enumerate(spec.rules):
        yield from _validate_rule(rule, f"spec.rules[{index}]")


def _validate_rule(rule: views.PolicyRulesWithSubjects, path: str) -> FieldErrors:
    for index, subject in enumerate(rule.subjects):
        yield from _validate_subject(subject, f"{path}.subjects[{index}]")
    if not rule.subjects:
        yield field.required(f"{path}.subjects", "subjects must contain at least one value")
    if not rule.resourceRules and not rule.nonResourceRules:
        yield field.required(path, "at least one of resourceRules and nonResourceRules has to be non-empty")
    for index, on_resources in enumerate(rule.resourceRules):
        yield from _validate_resource_rule(on_resources, f"{path}.resourceRules[{index}]")
    for index, on_paths in enumerate(rule.nonResourceRules):
        yield from _validate_path_rule(on_paths, f"{path}.nonResourceRules[{index}]")


def _validate_subject(subject: views.Subject, path: str) -> FieldErrors:
    own = _SUBJECTS.get(subject.kind)
    if own is None:
        yield field.not_supported(f"{path}.kind", AsJSON(subject.kind), sorted(_SUBJECTS))
        return
    named = getattr(subject, own)
    if named is None:
        yield field.required(f"{path}.{own}", f"{own} is required when subject kind is '{subject.kind}'")
    else:
        yield from _validate_named(named, f"{path}.{own}")
    for kind, name in (("ServiceAccount", "serviceAccount"), ("User", "user"), ("Group", "group")):
        if name != own and getattr(subject, name) is not None:
            yield field.forbidden(f"{path}.{name}", f"{name} is forbidden when subject kind is not '{kind}'")


def _validate_named(
    named: views.ServiceAccountSubject | views.UserSubject | views.GroupSubject, path: str
) -> FieldErrors:
    if not named.name:
        yield field.required(f"{path}.name")
    if isinstance(named, views.ServiceAccountSubject):
        if named.name not in ("", "*"):
            yield from validate_dns_subdomain(named.name, f"{path}.name")
        if named.namespace:
            yield from validate_dns_label(named.namespace, f"{path}.namespace")
        else:
            yield field.required(f"{path}.namespace", "must specify namespace for service account")


def _validate_verbs(verbs: tuple[str, ...], path: str) -> FieldErrors:
    if not verbs:
        yield field.required(path, "verbs must contain at least one value")
    elif "*" in verbs:
        yield from _validate_alone(verbs, path, "verbs")
    elif not set(_VERBS).issuperset(verbs):
        yield field.not_supported(path, AsJSON(verbs), _VERBS)


def _validate_alone(values: tuple[str, ...], path: str, what: str) -> list[FieldError]:
    if len(values) < 2 or "*" not in values:
        return []
    return [field.invalid(path, AsJSON(values), f"if '*' is present, must not specify other {what}")]


def _validate_resource_rule(rule: views.ResourcePolicyRule, path: str) -> FieldErrors:
    yield from _validate_verbs(rule.verbs, f"{path}.verbs")
    for name, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        values = getattr(rule, name)
        if not values:
            yield field.required(f"{path}.{name}", f"resource rules must supply at least one {one}")
        yield from _validate_alone(values, f"{path}.{name}", many)
    at = f"{path}.namespaces"
    if not rule.namespaces and not rule.clusterScope:
        yield field.required(at, "resource rules that are not cluster scoped must supply at least one namespace")
    elif "*" in rule.namespaces:
        yield from _validate_alone(rule.namespaces, at, "namespaces")
    else:
        for index, namespace in enumerate(rule.namespaces):
            for message in label_errors(namespace):
                detail = f"each member of this list must be '*' or a DNS-1123 label; {message}"
                yield field.invalid(f"{at}[{index}]", namespace, detail)


def _validate_path_rule(rule: views.NonResourcePolicyRule, path: str) -> FieldErrors:
    yield from _validate_verbs(rule.verbs, f"{path}.verbs")
    at, paths = f"{path}.nonResourceURLs", rule.nonResourceURLs
    if not paths:
        yield field.required(at, "nonResourceURLs must contain at least one value")
    elif "*" in paths:
        yield from _validate_alone(paths, at, "non-resource URLs")
    else:
        for index, one in enumerate(paths):
            if complaint := _path_complaint(one):
                yield field.invalid(f"{at}[{index}]", one, complaint)


def _path_complaint(path: str) -> str:
    if not path:
        return "must not be empty"
    if path == "/":
        return ""
    if not path.startswith("/"):
        return "must start with slash"
    if " " in path:
        return "must not contain white-space"
    if "//" in path:
        return "must not contain double slash"
    is_suffix = path.count("*") == 1 and path.endswith("/*")
    return "wildcard can only do suffix matching" if "*" in path and not is_suffix else ""


def validate_priority_level(level: views.PriorityLevelConfiguration, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(level.metadata, "metadata", namespaced=False)
    if _ROUND_TRIP in level.metadata.annotations:
        yield field.forbidden("metadata.annotations", f"annotation '{_ROUND_TRIP}' is forbidden")
    name, spec = level.metadata.name, level.spec
    yield from _validate_level_spec(name, spec)
    fixed = MANDATORY_LEVELS.get(name)
    if fixed is not None:
        wanted = convert_view(fixed, views.PriorityLevelConfigurationSpec)
        same = (spec.type, spec.limited) == (wanted.type, wanted.limited)
        if name == EXEMPT and not same:
            detail = f"spec of '{name}' except the 'spec.exempt' field must equal the fixed value"
            yield field.invalid("spec", AsJSON(internal_form(spec)), detail)
        elif name != EXEMPT and spec != wanted:
            yield field.invalid("spec", AsJSON(internal_form(spec)), f"spec of '{name}' must equal the fixed value")


def validate_priority_level_update(
    new: views.PriorityLevelConfiguration, old: views.PriorityLevelConfiguration, options: ValidationOptions
) -> FieldErrors:
    return validate_priority_level(new, options)


def _validate_level_spec(name: str, spec: views.PriorityLevelConfigurationSpec) -> FieldErrors:
    if (name == EXEMPT) is not (spec.type == "Exempt"):
        yield field.invalid("spec.type", AsJSON(spec.type), "must be 'Exempt' if and only if `name` is 'exempt'")
    if spec.type == "Exempt":
        if spec.limited is not None:
            yield field.forbidden("spec.limited", "must be nil if the type is not Limited")
        if spec.exempt is not None:
            yield from _validate_shares(spec.exempt, "spec.exempt")
    elif spec.type == "Limited":
        if spec.exempt is not None:
            yield field.forbidden("spec.exempt", "must be nil if the type is Limited")
        if spec.limited is None:
            yield field.required("spec.limited", "must not be empty when type is Limited")
        else:
            yield from _validate_limited(spec.limited, "spec.limited")
    else:
        yield from field.required_one_of(spec.type, _TYPES, "spec.type")


def _validate_shares(
    configuration: views.ExemptPriorityLevelConfiguration | views.LimitedPriorityLevelConfiguration, path: str
) -> FieldErrors:
    shares, percent = configuration.nominalConcurrencyShares, configuration.lendablePercent
    if shares is not None and shares < 0:
        yield field.invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer")
    if isinstance(configuration, views.LimitedPriorityLevelConfiguration):
        yield from _validate_response(configuration.limitResponse, f"{path}.limitResponse")
    if percent is not None and not 0 <= percent <= 100:
        yield field.invalid(f"{path}.lendablePercent", percent, "must be between 0 and 100, inclusive")


def _validate_limited(limited: views.LimitedPriorityLevelConfiguration, path: str) -> FieldErrors:
    yield from _validate_shares(limited, path)
    percent = limited.borrowingLimitPercent
    if percent is not None and percent < 0:
        detail = "if specified, must be a non-negative integer"
        yield field.invalid(f"{path}.borrowingLimitPercent", percent, detail)


def _validate_response(response: views.LimitResponse, path: str) -> FieldErrors:
    if response.type == "Reject" and response.queuing is not None:
        yield field.forbidden(f"{path}.queuing", "must be nil if limited.limitResponse.type is not Limited")
    elif response.type == "Queue" and response.queuing is None:
        yield field.required(f"{path}.queuing", "must not be empty if limited.limitResponse.type is Limited")
    elif response.type == "Queue" and response.queuing is not None:
        yield from _validate_queuing(response.queuing, f"{path}.queuing")
    else:
        yield from field.required_one_of(response.type, _RESPONSES, f"{path}.type")


def _validate_queuing(queuing: views.QueuingConfiguration, path: str) -> FieldErrors:
    queues, hand = queuing.queues, queuing.handSize
    if queuing.queueLengthLimit <= 0:
        yield field.invalid(f"{path}.queueLengthLimit", queuing.queueLengthLimit, "must be positive")
    if queues <= 0:
        yield field.invalid(f"{path}.queues", queues, "must be positive")
    elif queues > _MAX_QUEUES:
        yield field.invalid(f"{path}.queues", queues, f"must not be greater than {_MAX_QUEUES}")
    if hand <= 0:
        yield field.invalid(f"{path}.handSize", hand, "must be positive")
    elif hand > queues:
        yield field.invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})")
    elif ceil(log2(queues) * hand) > _MAX_BITS:
        bits = f"required entropy bits of deckSize {queues} and handSize {hand}"
        yield field.invalid(f"{path}.handSize", hand, f"{bits} should not be greater than {_MAX_BITS}")


def _validate_status(
    new: views.FlowSchema | views.PriorityLevelConfiguration, old: object, gates: GateSet
) -> FieldErrors:
    seen = set[str]()
    types = [str(getattr(condition, "type", "")) for condition in new.status.conditions]
    for index, kind in enumerate(types):
        path = f"status.conditions[{index}].type"
        if kind in seen:
            yield field.duplicate(path, AsJSON(kind))
        seen.add(kind)
        if not kind:
            yield field.required(path)


ROWS: Rows = {
    views.FlowSchema: KindRow(
        validate_flow_schema,
        validate_flow_schema_update,
        defaults.default_flow_schema,
        strategies.prepare_counted,
        validate_status=_validate_status,
        has_generation=True,
    ),
    views.PriorityLevelConfiguration: KindRow(
        validate_priority_level,
        validate_priority_level_update,
        defaults.default_priority_level,
        strategies.prepare_counted,
        validate_status=_validate_status,
        has_generation=True,
    ),
}
