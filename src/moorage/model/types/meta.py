"""Views of what every object carries and how objects refer to each other: metadata, selectors, conditions, references.

Kubernetes: k8s.io/apimachinery/pkg/apis/meta/v1 and the reference types of k8s.io/api/core/v1.
"""

from typing import Any

from moorage.model.schema import named_types as named
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, Int64, MetaView, View


class TypeMeta(View, frozen=True, gc=False):
    kind: str = ""
    apiVersion: str = ""


class OwnerReference(MetaView, frozen=True, gc=False):
    apiVersion: str = ""
    kind: str = ""
    name: str = ""
    uid: named.UID = ""
    controller: bool | None = None
    blockOwnerDeletion: bool | None = None


class ManagedFieldsEntry(MetaView, frozen=True, gc=False):
    manager: str = ""
    operation: named.ManagedFieldsOperationType = ""
    apiVersion: str = ""
    time: named.Time | None = None
    fieldsType: str = ""
    fieldsV1: Any = None
    subresource: str = ""


class ObjectMeta(MetaView, frozen=True, gc=False):
    name: str = ""
    generateName: str = ""
    namespace: str = ""
    selfLink: str = ""
    uid: named.UID = ""
    resourceVersion: str = ""
    generation: Int64 = 0
    creationTimestamp: named.Time | None = None
    deletionTimestamp: named.Time | None = None
    deletionGracePeriodSeconds: Int64 | None = None
    labels: dict[str, str] = ABSENT_MAP
    annotations: dict[str, str] = ABSENT_MAP
    ownerReferences: tuple[OwnerReference, ...] = ABSENT_LIST
    finalizers: tuple[str, ...] = ABSENT_LIST
    managedFields: tuple[ManagedFieldsEntry, ...] = ABSENT_LIST


class ApiObject(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()


class LocalObjectReference(View, frozen=True, gc=False):
    name: str = ""


class LabelSelectorRequirement(MetaView, frozen=True, gc=False):
    key: str = ""
    operator: named.LabelSelectorOperator = ""
    values: tuple[str, ...] = ABSENT_LIST


class LabelSelector(MetaView, frozen=True, gc=False):
    matchLabels: dict[str, str] = ABSENT_MAP
    matchExpressions: tuple[LabelSelectorRequirement, ...] = ABSENT_LIST


class TypedLocalObjectReference(View, frozen=True, gc=False):
    apiGroup: str | None = None
    kind: str = ""
    name: str = ""


class TypedObjectReference(TypedLocalObjectReference, frozen=True, gc=False):
    namespace: str | None = None


class SecretReference(LocalObjectReference, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""


class ObjectReference(View, frozen=True, gc=False):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: named.UID = ""
    apiVersion: str = ""
    resourceVersion: str = ""
    fieldPath: str = ""


class Condition(MetaView, frozen=True, gc=False):
    type: str = ""
    status: named.ConditionStatus = ""
    observedGeneration: Int64 = 0
    lastTransitionTime: named.Time | None = None
    reason: str = ""
    message: str = ""


class PlainCondition(View, frozen=True, gc=False):
    """What the conditions of most kinds have; each kind names the type of `type`."""

    type: str = ""
    status: named.ConditionStatus = ""
    lastTransitionTime: named.Time | None = None
    reason: str = ""
    message: str = ""
