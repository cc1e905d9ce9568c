"""APIServices.

Kubernetes: k8s.io/kube-aggregator/pkg/apis/apiregistration/v1.
"""

from moorage.model.schema import named_types as named
from moorage.model.types.meta import ApiObject
from moorage.model.types.view import ABSENT_LIST, ApiRegistrationView, Int32


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


class APIServiceCondition(ApiRegistrationView, frozen=True, gc=False):
    type: named.APIServiceConditionType = ""
    status: named.ConditionStatus = ""
    lastTransitionTime: named.Time | None = None
    reason: str = ""
    message: str = ""


class APIServiceStatus(ApiRegistrationView, frozen=True, gc=False):
    conditions: tuple[APIServiceCondition, ...] = ABSENT_LIST


class APIService(ApiObject, frozen=True, gc=False):
    spec: APIServiceSpec = APIServiceSpec()
    status: APIServiceStatus = APIServiceStatus()
