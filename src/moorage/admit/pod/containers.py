"""Validate containers: regular, init and ephemeral ones, what all have in common and what only some may have.

Kubernetes: validateContainers, validateInitContainers, validateEphemeralContainers, validateContainerCommon,
validateContainerRestartPolicy, validateResizePolicy, with ContainerRestartRules and
RestartAllContainersOnContainerExits on as in 1.36.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from moorage.admit.metadata import label_errors, validate_dns_label
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.environment import validate_environment, validate_environment_sources
from moorage.admit.pod.handlers import (
    validate_container_ports,
    validate_host_port_conflicts,
    validate_lifecycle,
    validate_probe,
)
from moorage.admit.pod.resources import validate_resource_requirements
from moorage.admit.pod.security import validate_security_context
from moorage.admit.pod.shared import AnyContainer, trim_space, validate_pull_policy
from moorage.admit.pod.volumes import validate_volume_devices, validate_volume_mounts
from moorage.match.operators import EXIT_CODES, names_in
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldError, FieldErrors
from moorage.model.types.container import Container, ContainerResizePolicy, ContainerRestartRule, ResourceRequirements
from moorage.model.types.pod import PodOS, PodSpec
from moorage.model.types.storage import Volume
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP

_POLICIES = ("Always", "Never", "OnFailure")
_ACTIONS = ("Restart", "RestartAllContainers")
_OPERATORS = names_in(EXIT_CODES)
_RULES_LIMIT = 20
_EXIT_CODES_LIMIT = 255
_RESIZED_RESOURCES = ("cpu", "memory")
_RESIZE_POLICIES = ("NotRequired", "RestartContainer")
_NEVER_RESTARTS = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
_NOT_FOR_INIT = "must not be set to 'RestartContainer' for non-sidecar initContainers"


def validate_restart_policy(policy: str | None, rules: tuple[ContainerRestartRule, ...], path: str) -> FieldErrors:
    if policy is None and not rules:
        return
    if policy is None:
        yield field.required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
    yield from field.one_of(policy, _POLICIES, f"{path}.restartPolicy")
    if len(rules) > _RULES_LIMIT:
        yield field.too_many(f"{path}.restartPolicyRules", len(rules), _RULES_LIMIT)
    for index, rule in enumerate(rules):
        yield from _validate_rule(rule, f"{path}.restartPolicyRules[{index}]")


def validate_init_restart_policy(policy: str | None, rules: tuple[ContainerRestartRule, ...], path: str) -> FieldErrors:
    """Init containers: without a policy the rules themselves are not looked at."""
    if policy is None and rules:
        return [field.required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")]
    return validate_restart_policy(policy, rules, path)


def _validate_rule(rule: ContainerRestartRule, path: str) -> FieldErrors:
    yield from field.one_of(rule.action, _ACTIONS, f"{path}.action")
    codes = rule.exitCodes
    if codes is None:
        yield field.required(f"{path}.exitCodes", "must be specified")
        return
    yield from field.one_of(codes.operator, _OPERATORS, f"{path}.exitCodes.operator")
    if len(codes.values) > _EXIT_CODES_LIMIT:
        yield field.too_many(f"{path}.exitCodes.values", len(codes.values), _EXIT_CODES_LIMIT)


def validate_resize_policy(
    policies: tuple[ContainerResizePolicy, ...], path: str, pod_restart_policy: str
) -> FieldErrors:
    """Upstream reports all but repetitions at the list's path, without the index."""
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        if policy.resourceName in seen:
            yield field.duplicate(f"{path}[{index}]", AsJSON(policy.resourceName))
        seen.add(policy.resourceName)
        yield from field.required_one_of(policy.resourceName, _RESIZED_RESOURCES, path)
        yield from field.required_one_of(policy.restartPolicy, _RESIZE_POLICIES, path)
        if pod_restart_policy == "Never" and policy.restartPolicy != "NotRequired":
            yield field.invalid(path, AsJSON(policy.restartPolicy), _NEVER_RESTARTS)


def validate_resize_of_init(policies: tuple[ContainerResizePolicy, ...], path: str) -> list[FieldError]:
    """Refuse the resize policy of an init container that is not a sidecar: it cannot be restarted."""
    return [
        field.invalid(f"{path}[{index}].restartPolicy", AsJSON(policy.restartPolicy), _NOT_FOR_INIT)
        for index, policy in enumerate(policies)
        if policy.restartPolicy == "RestartContainer"
    ]


_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_ONLY_FOR_SIDECARS = "may not be set for init containers without restartPolicy=Always"
_NOT_FOR_EPHEMERAL = "cannot be set for an Ephemeral Container"
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS_AND_PROBES = ("lifecycle", *_PROBES)
_FORBIDDEN_TO_EPHEMERAL = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)


class PodContext(msgspec.Struct, frozen=True):
    """What a container's validation needs to know of its pod."""

    volumes: Mapping[str, Volume]
    claim_names: frozenset[str]
    grace_period: int | None
    restart_policy: str
    os: PodOS | None
    host_users: bool
    options: ValidationOptions


def validate_containers(spec: PodSpec, path: str, context: PodContext) -> FieldErrors:
    if not spec.containers:
        yield field.required(path)
        return
    names: set[str] = set()
    has_ports = False
    for index, container in enumerate(spec.containers):
        at = f"{path}[{index}]"
        yield from _validate_any_container(container, at, context)
        if container.name in names:
            yield field.duplicate(f"{at}.name", container.name)
        names.add(container.name)
        yield from _validate_hooks_and_probes(container, at, context)
        yield from validate_restart_policy(container.restartPolicy, container.restartPolicyRules, at)
        has_ports = has_ports or bool(container.ports)
    if has_ports:
        yield from validate_host_port_conflicts(spec.containers, path)


def validate_init_containers(spec: PodSpec, path: str, context: PodContext) -> FieldErrors:
    names = {container.name for container in spec.containers}
    for index, container in enumerate(spec.initContainers):
        at = f"{path}[{index}]"
        yield from _validate_any_container(container, at, context)
        yield from validate_init_restart_policy(container.restartPolicy, container.restartPolicyRules, at)
        if container.name in names:
            yield field.duplicate(f"{at}.name", container.name)
        elif container.name:
            names.add(container.name)
        # Init containers run one after the other, so each has the host's ports to itself; upstream counts each as [0].
        yield from validate_host_port_conflicts((container,), path)
        if container.restartPolicy == "Always":
            yield from _validate_hooks_and_probes(container, at, context)
            continue
        for name in _HOOKS_AND_PROBES:
            if getattr(container, name) is not None:
                yield field.forbidden(f"{at}.{name}", _ONLY_FOR_SIDECARS)
        if not context.options.allow_existing_restart_container_for_non_sidecar_init_container:
            yield from validate_resize_of_init(container.resizePolicy, f"{at}.resizePolicy")


def _is_set(value: Any) -> bool:
    """Return whether a field is not Go's zero: an empty list or map that is written is something, too."""
    if isinstance(value, ResourceRequirements):
        return any(map(_is_set, (value.limits, value.requests, value.claims)))
    return value is not None and value is not ABSENT_LIST and value is not ABSENT_MAP


def validate_ephemeral_containers(spec: PodSpec, path: str, context: PodContext) -> FieldErrors:
    targets = {container.name for container in (*spec.containers, *spec.initContainers)}
    names = set(targets)
    for index, container in enumerate(spec.ephemeralContainers):
        at = f"{path}[{index}]"
        yield from _validate_any_container(container, at, context)
        yield from validate_images_for_pod((container,), path, index)
        if container.name in names:
            yield field.duplicate(f"{at}.name", container.name)
        names.add(container.name)
        target = container.targetContainerName
        if target and target not in targets:
            yield field.not_found(f"{at}.targetContainerName", target)
        for name in _FORBIDDEN_TO_EPHEMERAL:
            if _is_set(getattr(container, name)):
                yield field.forbidden(f"{at}.{name}", _NOT_FOR_EPHEMERAL)
        for mount_index, mount in enumerate(container.volumeMounts):
            if mount.subPath:
                yield field.forbidden(f"{at}.volumeMounts[{mount_index}].subPath", _NOT_FOR_EPHEMERAL)
            if mount.subPathExpr:
                yield field.forbidden(f"{at}.volumeMounts[{mount_index}].subPathExpr", _NOT_FOR_EPHEMERAL)


def validate_images_for_pod(containers: Sequence[AnyContainer], path: str, first_index: int = 0) -> list[FieldError]:
    """Let a template pad an image's name, because some tools put a placeholder there; a pod may not."""
    return [
        field.invalid(f"{path}[{index}].image", container.image, "must not have leading or trailing whitespace")
        for index, container in enumerate(containers, first_index)
        if container.image != trim_space(container.image)
    ]


def _validate_any_container(container: AnyContainer, path: str, context: PodContext) -> FieldErrors:
    if not container.name:
        yield field.required(f"{path}.name")
    elif label_errors(container.name):
        yield from validate_dns_label(container.name, f"{path}.name")
    if not container.image:
        yield field.required(f"{path}.image")
    policy = container.terminationMessagePolicy
    yield from field.required_one_of(policy, _MESSAGE_POLICIES, f"{path}.terminationMessagePolicy")
    if container.ports:
        yield from validate_container_ports(container.ports, f"{path}.ports")
    if container.env:
        yield from validate_environment(container.env, f"{path}.env")
    if container.envFrom:
        yield from validate_environment_sources(container.envFrom, f"{path}.envFrom")
    if container.volumeMounts:
        yield from validate_volume_mounts(container, f"{path}.volumeMounts", context.volumes)
    if container.volumeDevices:
        yield from validate_volume_devices(container, f"{path}.volumeDevices", context.volumes)
    yield from validate_pull_policy(container.imagePullPolicy, f"{path}.imagePullPolicy")
    resources = container.resources
    if resources.limits or resources.requests or resources.claims:
        yield from validate_resource_requirements(resources, f"{path}.resources", context.claim_names, context.options)
    if container.resizePolicy:
        yield from validate_resize_policy(container.resizePolicy, f"{path}.resizePolicy", context.restart_policy)
    if container.securityContext is not None:
        yield from validate_security_context(
            container.securityContext, f"{path}.securityContext", context.options, host_users=context.host_users
        )


def _validate_hooks_and_probes(container: Container, path: str, context: PodContext) -> FieldErrors:
    if container.lifecycle is not None:
        yield from validate_lifecycle(container.lifecycle, f"{path}.lifecycle", context.grace_period, context.os)
    for name in _PROBES:
        probe = getattr(container, name)
        if probe is not None:
            yield from validate_probe(probe, f"{path}.{name}", of_readiness=name == "readinessProbe")
