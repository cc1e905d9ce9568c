"""The kinds of vector file: how one is recognised, and which check judges its cases.

In: a file's name and its cases. Out: the `Kind`, and from it the function `check_<kind>(case) -> str | None` of
tests/conformance/checks, which says what differs, or None. Checks are imported only when a file of theirs is run.
Adding a kind is one row of `KINDS`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Case = dict[str, Any]
Check = Callable[[Case], str | None]

CASES_LOOKED_AT = 200


class NoCheckError(Exception):
    """The kind is known, but nothing can judge it."""


@dataclass(frozen=True)
class Kind:
    """One row: the name, the module of its check, and the fields a case has (`?` marks those that may be absent).

    `operations` are the values of `in.op` where a kind has several, `object_kind` that of `in.object.kind`, and
    `step_group` the API group of the first body of `in.steps`: they tell apart kinds whose fields are the same.
    `groups` are all that its cases belong to: a kind that fits by them comes before one that fits by its fields alone.
    """

    name: str
    module: str
    given: frozenset[str]
    wanted: frozenset[str]
    operations: frozenset[str] = frozenset()
    object_kind: str = ""
    step_group: str = ""
    groups: frozenset[str] = frozenset()

    def check(self) -> Check:
        module, function = f"tests.conformance.checks.{self.module}", f"check_{self.name}"
        try:
            found: Check = getattr(importlib.import_module(module), function)
        except (ImportError, AttributeError) as error:
            raise NoCheckError(f"nothing can check {self.name}: {module}.{function} is missing ({error})") from error
        return found

    def fits(self, case: object) -> bool:
        if not isinstance(case, dict):
            return False
        given, wanted = case.get("in"), case.get("out")
        return (
            isinstance(given, dict)
            and isinstance(wanted, dict)
            and _has_fields(given, self.given)
            and _has_fields(wanted, self.wanted)
            and (not self.operations or given.get("op") in self.operations)
            and (not self.groups or case.get("group") in self.groups)
            and (not self.object_kind or given["object"].get("kind") == self.object_kind)
            and (not self.step_group or _step_group(given) == self.step_group)
        )


def _has_fields(value: Case, fields: frozenset[str]) -> bool:
    needed = {field for field in fields if not field.endswith("?")}
    allowed = {field.removesuffix("?") for field in fields}
    return needed <= value.keys() <= allowed


def _step_group(given: Case) -> str:
    body = given["steps"][0].get("body")
    return str(body.get("apiVersion", "")).rpartition("/")[0] if isinstance(body, dict) else ""


def _kind(name: str, module: str, given: str, wanted: str, operations: str = "") -> Kind:
    fields, answers, names = (frozenset(text.split()) for text in (given, wanted, operations))
    return Kind(name, module, fields, answers, names)


def _validation(object_kind: str) -> Kind:
    """Return the row of the answers to new objects of a kind of resource.k8s.io."""
    name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in object_kind)
    wanted = frozenset(["errors?", "causes?", "message?", "spec?", "warnings?", "unordered?", "decodeError?"])
    return Kind(f"validate{name}", "device_kinds", frozenset(("gates", "object")), wanted, object_kind=object_kind)


def _of_groups(name: str, module: str, given: str, wanted: str, groups: str) -> Kind:
    fields, answers = (frozenset(text.split()) for text in (given, wanted))
    return Kind(name, module, fields, answers, groups=frozenset(groups.split()))


_ONE_ANSWER = "code? object? reason? message? causes? warnings? status?"
_VALIDATION_GROUPS = """
    expressions map mapbinding mutatingwebhook type-checking update validatingwebhook vap vap-rules vapbinding
"""
_VALIDATING_GROUPS = """
    actions audit-annotations authorizer basic cost library-values match-conditions match-equivalent match-rules
    match-selector message namespaceObject operations params random-expr random-match reason request runtime-errors
    several subresource types variables
"""
_MUTATING_GROUPS = """
    apply-configmap apply-custom apply-pod apply-update delete deployment failure interplay jsonpatch-configmap
    jsonpatch-custom jsonpatch-pod match match-conditions mutations order params random variables
"""
_NODE_IDENTITY_GROUPS = """
    authz-reference authz-verbs authz-pod-state authz-pods authz-volumes authz-claims authz-static slices identity
    node-read node-create node-labels node-update mirror-pod pod-delete pod-eviction pod-status lease csinode token csr
    pvc-status event random-reads random-nodes random-mirror
"""
KINDS = (
    _kind("semver", "semver", "op s? a? b?", "ok? version? error? cmp?", "parse compare"),
    _kind(
        "quantities",
        "quantities",
        "op s? a? b?",
        "ok? canonical? format? value? milliValue? sign? isZero? error? cmp?",
        "parse compare add sub",
    ),
    _kind("label_selectors", "label_selectors", "op s? selector? labelSets", "error string? matches?"),
    _kind("tolerates_taint", "tolerations", "toleration taint comparisonOperators semverOperators", "tolerates"),
    _kind(
        "node_selector",
        "node_selectors",
        "op node nodeSelector? podSpec? preferred?",
        "newError? match? lazyMatch? lazyError? error? score?",
    ),
    _kind("node_selector_semver", "node_selectors", "requirement labels", "match"),
    _kind(
        "cel_taint",
        "cel",
        "expression taints",
        "compile error? validationError? minCost? maxCost? maxCostUnbounded? results?",
    ),
    _kind("cel_spec", "cel", "bindings declare expr file name section typeChecked", "value? error?"),
    _kind("validate_tolerations", "admission", "tolerations comparisonOperators semverOperators", "errors"),
    _kind("validate_taints", "admission", "taints", "errors"),
    _kind("validate_node_affinity", "admission", "kind nodeAffinity semverOperators", "errors"),
    _kind(
        "match_label_keys",
        "admission",
        "labels gates affinity? topologySpreadConstraints?",
        "errors affinity? topologySpreadConstraints?",
    ),
    _kind("pod_update", "admission", "old new comparisonOperators", "errors heads"),
    _kind("validate_pod", "pods", "pod comparisonOperators", "errors message? unordered?"),
    _kind(
        "plugins",
        "plugins",
        "gate nodes pods pod",
        "preFilter filter feasible scores? total? fitError? fitErrorWithPreemption?",
    ),
    _kind(
        "taint_eviction",
        "taint_eviction",
        "tolerations taints comparisonOperators",
        "decision noExecuteTaints allTolerated? usedTolerations? rawMinTolerationNs? seconds?",
    ),
    _kind("daemonset", "daemonset", "node podSpec comparisonOperators", "shouldRun shouldContinueRunning tolerations"),
    _kind("kubelet_admit", "kubelet_admit", "node otherPods pod comparisonOperators", "admit reason message"),
    _kind(
        "device_cel",
        "device_cel",
        "gates driver device expression",
        "compile error? maxCost? overCostLimit? match? runtimeError? cost? stored?",
    ),
    *map(_validation, ("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass", "DeviceTaintRule")),
    _kind(
        "scheduler_dra",
        "scheduler_dra",
        "gates nodes deviceClasses resourceSlices resourceClaims deviceTaintRules? pod",
        "preEnqueue preFilter? filter? feasible? filterAborted? postFilter? score? normalizedScore? selectedNode? "
        "reserve? preBind? claims? podExtendedResourceClaimStatus?",
    ),
    _kind(
        "pod_resource_claims",
        "resource_claims",
        "op gates? object? sync? pods? resourceClaims? resourceClaimTemplates?",
        "errors? causes? message? spec? warnings? unordered? decodeError? error? claims? podResourceClaimStatuses?",
        "validate sync",
    ),
    _kind("tolerate_device_taint", "device_taints", "toleration taint", "tolerates"),
    _kind("device_taint_eviction", "device_taints", "now pods resourceClaims resourceSlices deviceTaintRules", "pods"),
    _kind(
        "allocate",
        "device_allocation",
        "gates node deviceClasses resourceSlices allocatedClaims claims",
        "allocated? results? error? nodeOnly?",
    ),
    _kind("custom_resources", "platform.custom_resources", "crd steps managedFields?", "steps? crdError?"),
    _kind("quota_limits", "platform.quota_limits", "setup steps quotasAfter?", "steps quotas?"),
    _kind(
        "rbac_authorize",
        "rbac",
        "roles clusterRoles roleBindings clusterRoleBindings requests rulesFor",
        "answers rulesFor clusterRoles?",
    ),
    Kind(
        "validate_rbac",
        "platform.built_in",
        frozenset(["steps"]),
        frozenset(["steps"]),
        step_group="rbac.authorization.k8s.io",
    ),
    _kind("rbac_escalation", "platform.escalation", "setup user groups steps", "steps"),
    _kind("validate_crd", "platform.definitions", "object old?", "code object? reason? message? causes? warnings?"),
    _kind("workloads_defaults", "platform.built_in", "steps", "steps"),
    Kind(
        "tokens",
        "platform.tokens",
        frozenset(["setup", "steps"]),
        frozenset(["steps"]),
        groups=frozenset(["token-request", "token-review", "access-review", "rules-review", "self-review"]),
    ),
    Kind(
        "node_identity",
        "platform.node_identity",
        frozenset(["setup", "steps"]),
        frozenset(["steps"]),
        groups=frozenset(_NODE_IDENTITY_GROUPS.split()),
    ),
    _of_groups("validate_policies", "extension.definitions", "object old?", _ONE_ANSWER, _VALIDATION_GROUPS),
    _of_groups("validating_policies", "extension.policies", "setup steps", "steps? anyOf?", _VALIDATING_GROUPS),
    _of_groups("mutating_policies", "extension.policies", "setup steps", "steps? anyOf?", _MUTATING_GROUPS),
    _kind(
        "hpa_replicas",
        "autoscaling",
        "op now namespace tolerances metrics currentReplicas? statusReplicas? pods? selector? resource? container? "
        "cpuInitializationPeriodSeconds? delayOfInitialReadinessStatusSeconds? targetUtilization? targetUsage? "
        "metricName? metricSelector? objectRef?",
        "replicas? usage? utilization? error?",
    ),
    _kind(
        "hpa_decide",
        "autoscaling",
        "now tolerance downscaleStabilizationSeconds cpuInitializationPeriodSeconds hpa scale pods metrics? steps? "
        "delayOfInitialReadinessStatusSeconds recommendations? scaleUpEvents? scaleDownEvents? gates? applyDefaults? "
        "otherHPAs? scaleGetError? scaleUpdateError? scaleUpdateConflicts? statusUpdateError?",
        "recommendations? scaleUpEvents? scaleDownEvents? statusUpdated? status? events? scaleTo? error? spec? steps?",
    ),
    _kind("webhooks", "extension.webhooks", "setup configurations webhooks steps", "steps? calls? anyOf?"),
)
BY_NAME = {kind.name: kind for kind in KINDS}


def recognise(file_name: str, cases: list[Any]) -> Kind | None:
    """By the longest kind named in the file's name, else by the only kind that all of the first cases fit."""
    name = file_name.lower().replace("-", "_")
    named = [kind for kind in KINDS if kind.name in name]
    if named:
        return max(named, key=lambda kind: len(kind.name))
    fitting = [kind for kind in KINDS if all(map(kind.fits, cases[:CASES_LOOKED_AT]))]
    fitting = [kind for kind in fitting if kind.step_group or kind.groups] or fitting  # the more particular
    # A semver file without a successful parse also reads as one of quantities: then the caller has to say which.
    return fitting[0] if len(fitting) == 1 else None
