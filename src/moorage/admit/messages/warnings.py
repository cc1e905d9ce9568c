"""Warn about pods, nodes and workloads that the API server accepts, as far as scheduling and resources go.

Kubernetes: pkg/api/pod/warnings.go and pkg/api/node/util.go. Differs: warnings about volumes, ports and environment
variables are left out; `moorage.lint` says more about scheduling.
"""

from collections.abc import Iterator

from moorage.model.go.quoting import go_quote
from moorage.model.names import dns1123_label_errors, label_value_errors
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.node import NodeSelectorTerm
from moorage.model.types.pod import PodSpec
from moorage.model.well_known.labels import BETA_ARCH, BETA_INSTANCE_TYPE, BETA_OS, BETA_REGION, BETA_ZONE

NOT_PASSED_ON = "this API server does not pass requests on to other API servers: the APIService is stored only"
#: What only this API server warns of.
STORED_ONLY = frozenset({NOT_PASSED_ON})
_STATIC_SUFFIX = ".static.k8s.io"
NULL_SELECTOR = "a null labelSelector results in matching no pod"
DEPRECATED_NODE_LABELS = {
    BETA_ARCH: 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    BETA_OS: 'deprecated since v1.14; use "kubernetes.io/os" instead',
    BETA_REGION: 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    BETA_ZONE: 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    BETA_INSTANCE_TYPE: 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_DEPRECATED_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_WHOLE_BYTES = ("memory", "ephemeral-storage")
_NAME_WARNINGS = {
    "Pod": "metadata.name: this is used in the Pod's hostname",
    "Deployment": "metadata.name: this is used in Pod names and hostnames",
    "ReplicaSet": "metadata.name: this is used in Pod names and hostnames",
    "ReplicationController": "metadata.name: this is used in Pod names and hostnames",
    "Job": "metadata.name: this is used in Pod names and hostnames",
    "CronJob": "metadata.name: this is used in Pod names and hostnames",
}


def name_warnings(kind: str, name: str) -> list[str]:
    start = _NAME_WARNINGS.get(kind)
    messages = dns1123_label_errors(name) if start is not None else []
    if not messages:
        return []
    advice = "which can result in surprising behavior; a DNS label is recommended"
    return [f"{start}, {advice}: [{' '.join(messages)}]"]


def pod_warnings(meta: ObjectMeta, spec: PodSpec, path: str) -> list[str]:
    """`path` is empty for a pod, and for a template that of the template."""
    prefix = f"{path}." if path else ""
    warnings = list(_scheduling_warnings(spec, f"{prefix}spec"))
    if meta.annotations:
        for key, advice in _DEPRECATED_ANNOTATIONS.items():
            if key in meta.annotations:
                warnings.append(f"{prefix}metadata.annotations[{key}]: {advice}")
    warnings += _fraction_warnings(spec, f"{prefix}spec")
    if (spec.terminationGracePeriodSeconds or 0) < 0:
        advice = "must be >= 0; negative values are invalid and will be treated as 1"
        warnings.append(f"{prefix}spec.terminationGracePeriodSeconds: {advice}")
    warnings += _null_selector_warnings(spec, f"{prefix}spec.affinity")
    return warnings


def _scheduling_warnings(spec: PodSpec, path: str) -> Iterator[str]:
    for key in spec.nodeSelector:
        if key in DEPRECATED_NODE_LABELS:
            yield f"{path}.nodeSelector[{key}]: {DEPRECATED_NODE_LABELS[key]}"
    affinity = spec.affinity.nodeAffinity if spec.affinity is not None else None
    if affinity is not None:
        at = f"{path}.affinity.nodeAffinity"
        required = affinity.requiredDuringSchedulingIgnoredDuringExecution
        for index, term in enumerate(required.nodeSelectorTerms if required is not None else ()):
            terms = f"{at}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
            yield from _term_warnings(term, f"{terms}[{index}]", check_values=False)
        for index, weighted in enumerate(affinity.preferredDuringSchedulingIgnoredDuringExecution):
            preference = f"{at}.preferredDuringSchedulingIgnoredDuringExecution[{index}].preference"
            yield from _term_warnings(weighted.preference, preference, check_values=True)
    for index, constraint in enumerate(spec.topologySpreadConstraints):
        at = f"{path}.topologySpreadConstraints[{index}]"
        key = constraint.topologyKey
        if key in DEPRECATED_NODE_LABELS:
            yield f"{at}.topologyKey: {key} is {DEPRECATED_NODE_LABELS[key]}"
        if constraint.labelSelector is None:
            yield f"{at}.labelSelector: {NULL_SELECTOR}"


def _term_warnings(term: NodeSelectorTerm, path: str, *, check_values: bool) -> Iterator[str]:
    for index, requirement in enumerate(term.matchExpressions):
        at = f"{path}.matchExpressions[{index}]"
        if requirement.key in DEPRECATED_NODE_LABELS:
            yield f"{at}.key: {requirement.key} is {DEPRECATED_NODE_LABELS[requirement.key]}"
        if check_values:
            for position, value in enumerate(requirement.values):
                for message in label_value_errors(value):
                    yield f"{at}.values[{position}]: {value} is invalid, {message}"


def _null_selector_warnings(spec: PodSpec, path: str) -> Iterator[str]:
    if spec.affinity is None:
        return
    for name, affinity in (
        ("podAffinity", spec.affinity.podAffinity),
        ("podAntiAffinity", spec.affinity.podAntiAffinity),
    ):
        if affinity is None:
            continue
        for index, term in enumerate(affinity.requiredDuringSchedulingIgnoredDuringExecution):
            if term.labelSelector is None:
                at = f"{path}.{name}.requiredDuringSchedulingIgnoredDuringExecution[{index}]"
                yield f"{at}.labelSelector: {NULL_SELECTOR}"
        for index, weighted in enumerate(affinity.preferredDuringSchedulingIgnoredDuringExecution):
            if weighted.podAffinityTerm.labelSelector is None:
                at = f"{path}.{name}.preferredDuringSchedulingIgnoredDuringExecution[{index}].podAffinityTerm"
                yield f"{at}.labelSelector: {NULL_SELECTOR}"


def _fraction_warnings(spec: PodSpec, path: str) -> Iterator[str]:
    lists = [(f"{path}.overhead", spec.overhead)]
    for name in ("initContainers", "containers"):
        for index, container in enumerate(getattr(spec, name)):
            at = f"{path}.{name}[{index}].resources"
            lists += [(f"{at}.limits", container.resources.limits), (f"{at}.requests", container.resources.requests)]
    for at, amounts in lists:
        for resource in _WHOLE_BYTES:
            amount = amounts.get(resource)
            if amount is not None and amount.milli_value() % 1000 != 0:
                yield f"{at}[{resource}]: fractional byte value {go_quote(str(amount))} is invalid, must be an integer"


def static_name_warnings(metadata: ObjectMeta) -> list[str]:
    """Warn of names that servers of other versions reserve for policies and webhooks that they read from files."""
    if not metadata.name.endswith(_STATIC_SUFFIX):
        return []
    reserved = "are reserved for static manifest-based configurations and cannot be managed via the API"
    return [f'metadata.name: names ending with "{_STATIC_SUFFIX}" {reserved}']
