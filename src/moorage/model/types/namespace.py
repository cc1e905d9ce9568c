"""Namespaces.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/core/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.schema.absent import ABSENT_LIST
from moorage.model.schema.named_types import (
    ConditionStatus,
    FinalizerName,
    NamespaceConditionType,
    NamespacePhase,
    Time,
)
from moorage.model.types.meta import ObjectMeta, TypeMeta
from moorage.model.types.view import View


class NamespaceSpec(View, frozen=True, gc=False):
    finalizers: tuple[FinalizerName, ...] = ABSENT_LIST


class NamespaceCondition(View, frozen=True, gc=False):
    type: NamespaceConditionType = ""
    status: ConditionStatus = ""
    lastTransitionTime: Time | None = None
    reason: str = ""
    message: str = ""


class NamespaceStatus(View, frozen=True, gc=False):
    phase: NamespacePhase = ""
    conditions: tuple[NamespaceCondition, ...] = ABSENT_LIST


class Namespace(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()
