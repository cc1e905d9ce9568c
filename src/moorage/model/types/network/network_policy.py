"""NetworkPolicies. Fields that are words of Python end in an underscore.

Kubernetes: k8s.io/api/networking/v1.
"""

from moorage.model.schema import named_types as named
from moorage.model.types.meta import ApiObject, LabelSelector
from moorage.model.types.view import ABSENT_LIST, Int32, NetworkingView


class NetworkPolicyPort(NetworkingView, frozen=True, gc=False):
    protocol: named.Protocol | None = None
    port: Int32 | str | None = None
    endPort: Int32 | None = None


class IPBlock(NetworkingView, frozen=True, gc=False, rename={"except_": "except"}):
    cidr: str = ""
    except_: tuple[str, ...] = ABSENT_LIST


class NetworkPolicyPeer(NetworkingView, frozen=True, gc=False):
    podSelector: LabelSelector | None = None
    namespaceSelector: LabelSelector | None = None
    ipBlock: IPBlock | None = None


class NetworkPolicyIngressRule(NetworkingView, frozen=True, gc=False, rename={"from_": "from"}):
    ports: tuple[NetworkPolicyPort, ...] = ABSENT_LIST
    from_: tuple[NetworkPolicyPeer, ...] = ABSENT_LIST


class NetworkPolicyEgressRule(NetworkingView, frozen=True, gc=False):
    ports: tuple[NetworkPolicyPort, ...] = ABSENT_LIST
    to: tuple[NetworkPolicyPeer, ...] = ABSENT_LIST


class NetworkPolicySpec(NetworkingView, frozen=True, gc=False):
    podSelector: LabelSelector = LabelSelector()
    ingress: tuple[NetworkPolicyIngressRule, ...] = ABSENT_LIST
    egress: tuple[NetworkPolicyEgressRule, ...] = ABSENT_LIST
    policyTypes: tuple[named.PolicyType, ...] = ABSENT_LIST


class NetworkPolicy(ApiObject, frozen=True, gc=False):
    spec: NetworkPolicySpec = NetworkPolicySpec()
