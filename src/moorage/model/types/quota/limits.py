"""LimitRanges and ResourceQuotas.

Kubernetes: k8s.io/api/core/v1.
"""

from moorage.model.schema.named_types import (
    LimitType,
    ResourceList,
    ResourceQuotaScope,
    ScopeSelectorOperator,
)
from moorage.model.types.meta import ApiObject
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, View


class LimitRangeItem(View, frozen=True, gc=False):
    type: LimitType = ""
    max: ResourceList = ABSENT_MAP
    min: ResourceList = ABSENT_MAP
    default: ResourceList = ABSENT_MAP
    defaultRequest: ResourceList = ABSENT_MAP
    maxLimitRequestRatio: ResourceList = ABSENT_MAP


class LimitRangeSpec(View, frozen=True, gc=False):
    limits: tuple[LimitRangeItem, ...] = ABSENT_LIST


class LimitRange(ApiObject, frozen=True, gc=False):
    spec: LimitRangeSpec = LimitRangeSpec()


class ScopedResourceSelectorRequirement(View, frozen=True, gc=False):
    scopeName: ResourceQuotaScope = ""
    operator: ScopeSelectorOperator = ""
    values: tuple[str, ...] = ABSENT_LIST


class ScopeSelector(View, frozen=True, gc=False):
    matchExpressions: tuple[ScopedResourceSelectorRequirement, ...] = ABSENT_LIST


class ResourceQuotaSpec(View, frozen=True, gc=False):
    hard: ResourceList = ABSENT_MAP
    scopes: tuple[ResourceQuotaScope, ...] = ABSENT_LIST
    scopeSelector: ScopeSelector | None = None


class ResourceQuotaStatus(View, frozen=True, gc=False):
    hard: ResourceList = ABSENT_MAP
    used: ResourceList = ABSENT_MAP


class ResourceQuota(ApiObject, frozen=True, gc=False):
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()
