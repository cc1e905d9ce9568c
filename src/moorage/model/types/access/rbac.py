"""Roles and the bindings that grant them.

Kubernetes: k8s.io/api/rbac/v1.
"""

from moorage.model.types.meta import ApiObject, LabelSelector
from moorage.model.types.view import ABSENT_LIST, RbacView


class PolicyRule(RbacView, frozen=True, gc=False):
    verbs: tuple[str, ...] = ()
    apiGroups: tuple[str, ...] = ABSENT_LIST
    resources: tuple[str, ...] = ABSENT_LIST
    resourceNames: tuple[str, ...] = ABSENT_LIST
    nonResourceURLs: tuple[str, ...] = ABSENT_LIST


class Subject(RbacView, frozen=True, gc=False):
    kind: str = ""
    apiGroup: str = ""
    name: str = ""
    namespace: str = ""


class RoleRef(RbacView, frozen=True, gc=False):
    apiGroup: str = ""
    kind: str = ""
    name: str = ""


class AggregationRule(RbacView, frozen=True, gc=False):
    clusterRoleSelectors: tuple[LabelSelector, ...] = ABSENT_LIST


class Role(ApiObject, frozen=True, gc=False):
    rules: tuple[PolicyRule, ...] = ()


class ClusterRole(ApiObject, frozen=True, gc=False):
    rules: tuple[PolicyRule, ...] = ()
    aggregationRule: AggregationRule | None = None


class RoleBinding(ApiObject, frozen=True, gc=False):
    subjects: tuple[Subject, ...] = ABSENT_LIST
    roleRef: RoleRef = RoleRef()


class ClusterRoleBinding(ApiObject, frozen=True, gc=False):
    subjects: tuple[Subject, ...] = ABSENT_LIST
    roleRef: RoleRef = RoleRef()
