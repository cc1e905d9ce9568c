"""Views of admission webhooks, admission policies and the bindings of policies.

Views that something is compiled from allow weak references, so that it is forgotten with them.
Kubernetes: k8s.io/api/admissionregistration/v1.
"""

from moorage.model.schema import named_types as named
from moorage.model.types.meta import ApiObject, Condition, LabelSelector
from moorage.model.types.view import ABSENT_LIST, AdmissionRegistrationView, Int32, Int64


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


class MutatingWebhook(AdmissionRegistrationView, frozen=True, gc=True, weakref=True):
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


class ValidatingWebhook(AdmissionRegistrationView, frozen=True, gc=True, weakref=True):
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


class ParamKind(AdmissionRegistrationView, frozen=True, gc=False):
    apiVersion: str = ""
    kind: str = ""


class NamedRuleWithOperations(RuleWithOperations, frozen=True, gc=False):
    resourceNames: tuple[str, ...] = ABSENT_LIST


class MatchResources(AdmissionRegistrationView, frozen=True, gc=True, weakref=True):
    namespaceSelector: LabelSelector | None = None
    objectSelector: LabelSelector | None = None
    resourceRules: tuple[NamedRuleWithOperations, ...] = ABSENT_LIST
    excludeResourceRules: tuple[NamedRuleWithOperations, ...] = ABSENT_LIST
    matchPolicy: named.MatchPolicyType | None = None


class Validation(AdmissionRegistrationView, frozen=True, gc=False):
    expression: str = ""
    message: str = ""
    reason: named.StatusReason | None = None
    messageExpression: str = ""


class AuditAnnotation(AdmissionRegistrationView, frozen=True, gc=False):
    key: str = ""
    valueExpression: str = ""


class Variable(AdmissionRegistrationView, frozen=True, gc=False):
    name: str = ""
    expression: str = ""


class ValidatingAdmissionPolicySpec(AdmissionRegistrationView, frozen=True, gc=False):
    paramKind: ParamKind | None = None
    matchConstraints: MatchResources | None = None
    validations: tuple[Validation, ...] = ABSENT_LIST
    failurePolicy: named.FailurePolicyType | None = None
    auditAnnotations: tuple[AuditAnnotation, ...] = ABSENT_LIST
    matchConditions: tuple[MatchCondition, ...] = ABSENT_LIST
    variables: tuple[Variable, ...] = ABSENT_LIST


class ExpressionWarning(AdmissionRegistrationView, frozen=True, gc=False):
    fieldRef: str = ""
    warning: str = ""


class TypeChecking(AdmissionRegistrationView, frozen=True, gc=False):
    expressionWarnings: tuple[ExpressionWarning, ...] = ABSENT_LIST


class ValidatingAdmissionPolicyStatus(AdmissionRegistrationView, frozen=True, gc=False):
    observedGeneration: Int64 = 0
    typeChecking: TypeChecking | None = None
    conditions: tuple[Condition, ...] = ABSENT_LIST


class ValidatingAdmissionPolicy(ApiObject, frozen=True, gc=True, weakref=True):
    spec: ValidatingAdmissionPolicySpec = ValidatingAdmissionPolicySpec()
    status: ValidatingAdmissionPolicyStatus = ValidatingAdmissionPolicyStatus()


class ParamRef(AdmissionRegistrationView, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""
    selector: LabelSelector | None = None
    parameterNotFoundAction: named.ParameterNotFoundActionType | None = None


class ValidatingAdmissionPolicyBindingSpec(AdmissionRegistrationView, frozen=True, gc=False):
    policyName: str = ""
    paramRef: ParamRef | None = None
    matchResources: MatchResources | None = None
    validationActions: tuple[named.ValidationAction, ...] = ABSENT_LIST


class ValidatingAdmissionPolicyBinding(ApiObject, frozen=True, gc=False):
    spec: ValidatingAdmissionPolicyBindingSpec = ValidatingAdmissionPolicyBindingSpec()


class ApplyConfiguration(AdmissionRegistrationView, frozen=True, gc=False):
    expression: str = ""


class JSONPatch(AdmissionRegistrationView, frozen=True, gc=False):
    expression: str = ""


class Mutation(AdmissionRegistrationView, frozen=True, gc=False):
    patchType: named.PatchType = ""
    applyConfiguration: ApplyConfiguration | None = None
    jsonPatch: JSONPatch | None = None


class MutatingAdmissionPolicySpec(AdmissionRegistrationView, frozen=True, gc=False):
    paramKind: ParamKind | None = None
    matchConstraints: MatchResources | None = None
    variables: tuple[Variable, ...] = ABSENT_LIST
    mutations: tuple[Mutation, ...] = ABSENT_LIST
    failurePolicy: named.FailurePolicyType | None = None
    matchConditions: tuple[MatchCondition, ...] = ABSENT_LIST
    reinvocationPolicy: named.ReinvocationPolicyType = ""


class MutatingAdmissionPolicy(ApiObject, frozen=True, gc=True, weakref=True):
    spec: MutatingAdmissionPolicySpec = MutatingAdmissionPolicySpec()


class MutatingAdmissionPolicyBindingSpec(AdmissionRegistrationView, frozen=True, gc=False):
    policyName: str = ""
    paramRef: ParamRef | None = None
    matchResources: MatchResources | None = None


class MutatingAdmissionPolicyBinding(ApiObject, frozen=True, gc=False):
    spec: MutatingAdmissionPolicyBindingSpec = MutatingAdmissionPolicyBindingSpec()
