"""Configurations of admission webhooks, and the rules by which they and admission policies choose requests.

Kubernetes: k8s.io/api/admissionregistration/v1.
"""

from moorage.model.schema import named_types as named
from moorage.model.types.meta import ApiObject, LabelSelector
from moorage.model.types.view import ABSENT_LIST, AdmissionRegistrationView, Int32


class ServiceReference(AdmissionRegistrationView, frozen=True, gc=False):
    namespace: str = ""
    name: str = ""
    path: str | None = None
    port: Int32 | None = None


class WebhookClientConfig(AdmissionRegistrationView, frozen=True, gc=False):
    url: str | None = None
    service: ServiceReference | None = None
    caBundle: named.Bytes = ""


class RuleWithOperations(AdmissionRegistrationView, frozen=True, gc=False):
    operations: tuple[named.OperationType, ...] = ABSENT_LIST
    apiGroups: tuple[str, ...] = ABSENT_LIST
    apiVersions: tuple[str, ...] = ABSENT_LIST
    resources: tuple[str, ...] = ABSENT_LIST
    scope: named.ScopeType | None = None


class MatchCondition(AdmissionRegistrationView, frozen=True, gc=False):
    name: str = ""
    expression: str = ""


class MutatingWebhook(AdmissionRegistrationView, frozen=True, gc=False):
    name: str = ""
    clientConfig: WebhookClientConfig = WebhookClientConfig()
    rules: tuple[RuleWithOperations, ...] = ABSENT_LIST
    failurePolicy: named.FailurePolicyType | None = None
    matchPolicy: named.MatchPolicyType | None = None
    namespaceSelector: LabelSelector | None = None
    objectSelector: LabelSelector | None = None
    sideEffects: named.SideEffectClass | None = None
    timeoutSeconds: Int32 | None = None
    admissionReviewVersions: tuple[str, ...] = ABSENT_LIST
    reinvocationPolicy: named.ReinvocationPolicyType | None = None
    matchConditions: tuple[MatchCondition, ...] = ABSENT_LIST


class MutatingWebhookConfiguration(ApiObject, frozen=True, gc=False):
    webhooks: tuple[MutatingWebhook, ...] = ABSENT_LIST


class ValidatingWebhook(AdmissionRegistrationView, frozen=True, gc=False):
    name: str = ""
    clientConfig: WebhookClientConfig = WebhookClientConfig()
    rules: tuple[RuleWithOperations, ...] = ABSENT_LIST
    failurePolicy: named.FailurePolicyType | None = None
    matchPolicy: named.MatchPolicyType | None = None
    namespaceSelector: LabelSelector | None = None
    objectSelector: LabelSelector | None = None
    sideEffects: named.SideEffectClass | None = None
    timeoutSeconds: Int32 | None = None
    admissionReviewVersions: tuple[str, ...] = ABSENT_LIST
    matchConditions: tuple[MatchCondition, ...] = ABSENT_LIST


class ValidatingWebhookConfiguration(ApiObject, frozen=True, gc=False):
    webhooks: tuple[ValidatingWebhook, ...] = ABSENT_LIST
