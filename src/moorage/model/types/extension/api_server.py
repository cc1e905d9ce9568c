"""Views of APIServices, FlowSchemas and PriorityLevelConfigurations.

Kubernetes: k8s.io/kube-aggregator/pkg/apis/apiregistration/v1 and k8s.io/api/flowcontrol/v1.
"""

from moorage.model.schema import named_types as named
from moorage.model.types.meta import ApiObject, PlainCondition
from moorage.model.types.view import ABSENT_LIST, ApiRegistrationView, FlowControlView, Int32


class PriorityLevelConfigurationReference(FlowControlView, frozen=True, gc=False):
    name: str = ""


class FlowDistinguisherMethod(FlowControlView, frozen=True, gc=False):
    type: named.FlowDistinguisherMethodType = ""


class UserSubject(FlowControlView, frozen=True, gc=False):
    name: str = ""


class GroupSubject(FlowControlView, frozen=True, gc=False):
    name: str = ""


class ServiceAccountSubject(FlowControlView, frozen=True, gc=False):
    namespace: str = ""
    name: str = ""


class Subject(FlowControlView, frozen=True, gc=False):
    kind: named.SubjectKind = ""
    user: UserSubject | None = None
    group: GroupSubject | None = None
    serviceAccount: ServiceAccountSubject | None = None


class ResourcePolicyRule(FlowControlView, frozen=True, gc=False):
    verbs: tuple[str, ...] = ABSENT_LIST
    apiGroups: tuple[str, ...] = ABSENT_LIST
    resources: tuple[str, ...] = ABSENT_LIST
    clusterScope: bool = False
    namespaces: tuple[str, ...] = ABSENT_LIST


class NonResourcePolicyRule(FlowControlView, frozen=True, gc=False):
    verbs: tuple[str, ...] = ABSENT_LIST
    nonResourceURLs: tuple[str, ...] = ABSENT_LIST


class PolicyRulesWithSubjects(FlowControlView, frozen=True, gc=False):
    subjects: tuple[Subject, ...] = ABSENT_LIST
    resourceRules: tuple[ResourcePolicyRule, ...] = ABSENT_LIST
    nonResourceRules: tuple[NonResourcePolicyRule, ...] = ABSENT_LIST


class FlowSchemaSpec(FlowControlView, frozen=True, gc=False):
    priorityLevelConfiguration: PriorityLevelConfigurationReference = PriorityLevelConfigurationReference()
    matchingPrecedence: Int32 = 0
    distinguisherMethod: FlowDistinguisherMethod | None = None
    rules: tuple[PolicyRulesWithSubjects, ...] = ABSENT_LIST


class FlowSchemaCondition(PlainCondition, FlowControlView, frozen=True, gc=False):
    type: named.FlowSchemaConditionType = ""


class FlowSchemaStatus(FlowControlView, frozen=True, gc=False):
    conditions: tuple[FlowSchemaCondition, ...] = ABSENT_LIST


class FlowSchema(ApiObject, frozen=True, gc=False):
    spec: FlowSchemaSpec = FlowSchemaSpec()
    status: FlowSchemaStatus = FlowSchemaStatus()


class QueuingConfiguration(FlowControlView, frozen=True, gc=False):
    queues: Int32 = 0
    handSize: Int32 = 0
    queueLengthLimit: Int32 = 0


class LimitResponse(FlowControlView, frozen=True, gc=False):
    type: named.LimitResponseType = ""
    queuing: QueuingConfiguration | None = None


class LimitedPriorityLevelConfiguration(FlowControlView, frozen=True, gc=False):
    nominalConcurrencyShares: Int32 | None = None
    limitResponse: LimitResponse = LimitResponse()
    lendablePercent: Int32 | None = None
    borrowingLimitPercent: Int32 | None = None


class ExemptPriorityLevelConfiguration(FlowControlView, frozen=True, gc=False):
    nominalConcurrencyShares: Int32 | None = None
    lendablePercent: Int32 | None = None


class PriorityLevelConfigurationSpec(FlowControlView, frozen=True, gc=False):
    type: named.PriorityLevelEnablement = ""
    limited: LimitedPriorityLevelConfiguration | None = None
    exempt: ExemptPriorityLevelConfiguration | None = None


class PriorityLevelConfigurationCondition(PlainCondition, FlowControlView, frozen=True, gc=False):
    type: named.PriorityLevelConfigurationConditionType = ""


class PriorityLevelConfigurationStatus(FlowControlView, frozen=True, gc=False):
    conditions: tuple[PriorityLevelConfigurationCondition, ...] = ABSENT_LIST


class PriorityLevelConfiguration(ApiObject, frozen=True, gc=False):
    spec: PriorityLevelConfigurationSpec = PriorityLevelConfigurationSpec()
    status: PriorityLevelConfigurationStatus = PriorityLevelConfigurationStatus()


class ServiceReference(ApiRegistrationView, frozen=True, gc=False):
    namespace: str = ""
    name: str = ""
    port: Int32 | None = None


class APIServiceSpec(ApiRegistrationView, frozen=True, gc=False):
    service: ServiceReference | None = None
    group: str = ""
    version: str = ""
    insecureSkipTLSVerify: bool = False
    caBundle: named.Bytes = ""
    groupPriorityMinimum: Int32 = 0
    versionPriority: Int32 = 0


class APIServiceCondition(PlainCondition, ApiRegistrationView, frozen=True, gc=False):
    type: named.APIServiceConditionType = ""


class APIServiceStatus(ApiRegistrationView, frozen=True, gc=False):
    conditions: tuple[APIServiceCondition, ...] = ABSENT_LIST


class APIService(ApiObject, frozen=True, gc=False):
    spec: APIServiceSpec = APIServiceSpec()
    status: APIServiceStatus = APIServiceStatus()
