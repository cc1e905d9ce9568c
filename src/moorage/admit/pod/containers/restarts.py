"""When containers are restarted: policies, rules on exit codes, and what a resize does.

In: a container's restart policy and rules, its resize policies. Out: field errors. Kubernetes:
validateContainerRestartPolicy, validateInitContainerRestartPolicy, validateResizePolicy, with ContainerRestartRules and
RestartAllContainersOnContainerExits on as in 1.36.
"""

from moorage.match.operators import EXIT_CODES, names_in
from moorage.model.field_error import AsJSON, FieldError, duplicate, invalid, not_supported, required, too_many
from moorage.model.types.container import ContainerResizePolicy, ContainerRestartRule

_POLICIES = ("Always", "Never", "OnFailure")
_ACTIONS = ("Restart", "RestartAllContainers")
_OPERATORS = names_in(EXIT_CODES)
_RULES_LIMIT = 20
_EXIT_CODES_LIMIT = 255
_RESIZED_RESOURCES = ("cpu", "memory")
_RESIZE_POLICIES = ("NotRequired", "RestartContainer")
_NEVER_RESTARTS = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
_NOT_FOR_INIT = "must not be set to 'RestartContainer' for non-sidecar initContainers"


def validate_restart_policy(policy: str | None, rules: tuple[ContainerRestartRule, ...], path: str) -> list[FieldError]:
    """Check `path`, the container's own, for `restartPolicy` and `restartPolicyRules`."""
    if policy is None and not rules:
        return []
    errors: list[FieldError] = []
    if policy is None:
        errors.append(required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used"))
    elif policy not in _POLICIES:
        errors.append(not_supported(f"{path}.restartPolicy", AsJSON(policy), _POLICIES))
    if len(rules) > _RULES_LIMIT:
        errors.append(too_many(f"{path}.restartPolicyRules", len(rules), _RULES_LIMIT))
    for index, rule in enumerate(rules):
        errors += _validate_rule(rule, f"{path}.restartPolicyRules[{index}]")
    return errors


def validate_init_restart_policy(
    policy: str | None, rules: tuple[ContainerRestartRule, ...], path: str
) -> list[FieldError]:
    """Init containers: without a policy the rules themselves are not looked at."""
    if policy is None and rules:
        return [required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")]
    return validate_restart_policy(policy, rules, path)


def _validate_rule(rule: ContainerRestartRule, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if rule.action not in _ACTIONS:
        errors.append(not_supported(f"{path}.action", AsJSON(rule.action), _ACTIONS))
    codes = rule.exitCodes
    if codes is None:
        errors.append(required(f"{path}.exitCodes", "must be specified"))
        return errors
    if codes.operator not in _OPERATORS:
        errors.append(not_supported(f"{path}.exitCodes.operator", AsJSON(codes.operator), _OPERATORS))
    if len(codes.values) > _EXIT_CODES_LIMIT:
        errors.append(too_many(f"{path}.exitCodes.values", len(codes.values), _EXIT_CODES_LIMIT))
    return errors


def validate_resize_policy(
    policies: tuple[ContainerResizePolicy, ...], path: str, pod_restart_policy: str
) -> list[FieldError]:
    """Upstream reports all but repetitions at the list's path, without the index."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        if policy.resourceName in seen:
            errors.append(duplicate(f"{path}[{index}]", AsJSON(policy.resourceName)))
        seen.add(policy.resourceName)
        if not policy.resourceName:
            errors.append(required(path))
        elif policy.resourceName not in _RESIZED_RESOURCES:
            errors.append(not_supported(path, AsJSON(policy.resourceName), _RESIZED_RESOURCES))
        if not policy.restartPolicy:
            errors.append(required(path))
        elif policy.restartPolicy not in _RESIZE_POLICIES:
            errors.append(not_supported(path, AsJSON(policy.restartPolicy), _RESIZE_POLICIES))
        if pod_restart_policy == "Never" and policy.restartPolicy != "NotRequired":
            errors.append(invalid(path, AsJSON(policy.restartPolicy), _NEVER_RESTARTS))
    return errors


def validate_resize_of_init(policies: tuple[ContainerResizePolicy, ...], path: str) -> list[FieldError]:
    """An init container that is not a sidecar cannot be restarted to be resized."""
    return [
        invalid(f"{path}[{index}].restartPolicy", AsJSON(policy.restartPolicy), _NOT_FOR_INIT)
        for index, policy in enumerate(policies)
        if policy.restartPolicy == "RestartContainer"
    ]
