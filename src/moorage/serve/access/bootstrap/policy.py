"""Read the roles and bindings of every cluster, those of Kubernetes v1.36 and of Moorage itself, from their tables.

A role is a line with its name, `> label` for what it is aggregated into and `< label` for what it aggregates, and a
line for each rule: `verbs | groups | resources | names`, or `verbs | paths`. A binding is a line `name = Kind role`
and a line for each subject. Every controller's role is bound to its service account. `moorage roles` prints those of
the components for other clusters. The scheduler's user also has Kubernetes' own roles; so have the garbage collector
and the namespace controller, which must read, change and delete any object. The other controllers share one identity.
Kubernetes: bootstrappolicy, `system:kube-scheduler`, `system:controller:*`, `system:node`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from moorage.serve.access.bootstrap.cluster_roles import BINDINGS, CLUSTER_ROLES, ROLES
from moorage.serve.access.bootstrap.controller_roles import CONTROLLER_ROLES
from moorage.serve.pki.authentication import AUTHENTICATED, User, account_of_user, service_account_user

SCHEDULER: Final = User("system:kube-scheduler", groups=(AUTHENTICATED,))
CONTROLLER_MANAGER: Final = User("system:kube-controller-manager", groups=(AUTHENTICATED,))
KUBELETS: Final = User("moorage:kubelet", groups=(AUTHENTICATED,))
#: Controllers with an identity of their own: service accounts that Kubernetes' role of the same name is bound to.
CONTROLLERS: Final = {
    "garbage-collector-controller": service_account_user("kube-system", "generic-garbage-collector", "", {}),
    "namespace-controller": service_account_user("kube-system", "namespace-controller", "", {}),
    "horizontal-pod-autoscaler-controller": service_account_user("kube-system", "horizontal-pod-autoscaler", "", {}),
}

COMPONENT_ROLES: Final = """
moorage:kube-scheduler
  report | core events.k8s.io | events
  create get update | coordination.k8s.io | leases
  read | core | nodes namespaces persistentvolumes replicationcontrollers services
  delete get list watch | core | pods
  create | core | pods/binding
  patch update | core | pods/status
  get list patch update watch | core | persistentvolumeclaims
  patch update | core | persistentvolumes
  read | apps | replicasets statefulsets
  read | policy | poddisruptionbudgets
  read | scheduling.k8s.io | priorityclasses
  read | storage.k8s.io | csidrivers csinodes csistoragecapacities storageclasses volumeattachments
  read | resource.k8s.io | deviceclasses devicetaintrules resourceslices
  create delete get list patch update watch | resource.k8s.io | resourceclaims
  get patch update | resource.k8s.io | resourceclaims/status
  patch update | resource.k8s.io | resourceclaims/binding
moorage:kube-controller-manager
  follow | * | *
  report | core events.k8s.io | events
  create get update | coordination.k8s.io | leases
  create get update | core | configmaps serviceaccounts
  create delete get patch update | core | endpoints persistentvolumes pods
  create get patch update | core | persistentvolumeclaims
  create | core | endpoints/restricted
  delete get update | core | secrets
  get patch update | core | nodes
  get | core | namespaces replicationcontrollers resourcequotas services
  patch update | core | nodes/status persistentvolumeclaims/status persistentvolumes/status pods/status
    replicationcontrollers/status resourcequotas/status services/status
  update | core | pods/finalizers replicationcontrollers/finalizers services/finalizers
  create delete get patch update | apps | controllerrevisions replicasets
  get | apps | daemonsets deployments statefulsets
  patch update | apps | daemonsets/status deployments/status replicasets/status statefulsets/status
  update | apps | daemonsets/finalizers deployments/finalizers replicasets/finalizers statefulsets/finalizers
  create delete get patch update | batch | jobs
  get | batch | cronjobs
  patch update | batch | cronjobs/status jobs/status
  update | batch | cronjobs/finalizers jobs/finalizers
  create delete get patch update | discovery.k8s.io | endpointslices
  create | discovery.k8s.io | endpointslices/restricted
  get | policy | poddisruptionbudgets
  patch update | policy | poddisruptionbudgets/status
  create delete get patch update | resource.k8s.io | resourceclaims
  patch update | resource.k8s.io | devicetaintrules/status resourceclaims/binding resourceclaims/status
  get patch update | storage.k8s.io | volumeattributesclasses
  escalate get patch update | rbac.authorization.k8s.io | clusterroles
  delete get | certificates.k8s.io | certificatesigningrequests
  update | certificates.k8s.io | certificatesigningrequests/approval certificatesigningrequests/status
  approve | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client-kubelet
  sign | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client
    kubernetes.io/kube-apiserver-client-kubelet kubernetes.io/kubelet-serving kubernetes.io/legacy-unknown
  create | authorization.k8s.io | subjectaccessreviews
  patch | admissionregistration.k8s.io | validatingadmissionpolicies/status
moorage:kubelet
  create delete get list patch update watch | core | nodes
  patch update | core | nodes/status
  create get list patch update watch | coordination.k8s.io | leases
  delete get list watch | core | pods
  patch update | core | pods/status
  report | core events.k8s.io | events
  read | core | configmaps persistentvolumeclaims persistentvolumes secrets services
  read | node.k8s.io | runtimeclasses
  read | storage.k8s.io | csidrivers
  create delete get list patch update watch | storage.k8s.io | csinodes
  get list patch update watch | resource.k8s.io | resourceclaims resourceclaims/status
  arbitrary-node:patch arbitrary-node:update | resource.k8s.io | resourceclaims/driver
  read | resource.k8s.io | deviceclasses devicetaintrules
  create delete deletecollection get list patch update watch | resource.k8s.io | resourceslices
"""

#: What metrics-server brings, so that who may view workloads may see what they use.
METRICS_ROLES: Final = """
system:aggregated-metrics-reader > view > edit > admin
  read | metrics.k8s.io | nodes pods
"""

COMPONENT_BINDINGS: Final = """
moorage:kube-scheduler = ClusterRole moorage:kube-scheduler
  User system:kube-scheduler
moorage:kube-controller-manager = ClusterRole moorage:kube-controller-manager
  User system:kube-controller-manager
moorage:kubelet = ClusterRole moorage:kubelet
  User moorage:kubelet
"""

#: What a controller manager needs in addition that is one process with one identity, on a cluster with RBAC.
SINGLE_PROCESS_BINDINGS: Final = """
moorage:kube-controller-manager:garbage-collector = ClusterRole system:controller:generic-garbage-collector
  User system:kube-controller-manager
moorage:kube-controller-manager:namespaces = ClusterRole system:controller:namespace-controller
  User system:kube-controller-manager
moorage:kube-controller-manager:autoscalers = ClusterRole system:controller:horizontal-pod-autoscaler
  User system:kube-controller-manager
"""


Raw = dict[str, Any]

API_VERSION = "rbac.authorization.k8s.io/v1"
AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"
_GROUP = "rbac.authorization.k8s.io"
_AGGREGATE_TO = "rbac.authorization.k8s.io/aggregate-to-"
_CONTROLLER = "system:controller:"
_VERBS = {
    "all": ["*"],
    "follow": ["list", "watch"],
    "read": ["get", "list", "watch"],
    "report": ["create", "patch", "update"],
    "write": ["create", "delete", "deletecollection", "patch", "update"],
}


def bootstrap_roles() -> list[Raw]:
    """Return the ClusterRoles and Roles."""
    return [_role(head, rules) for head, rules in _blocks(CLUSTER_ROLES + CONTROLLER_ROLES + ROLES)]


def bootstrap_bindings() -> list[Raw]:
    """Return the ClusterRoleBindings and RoleBindings."""
    bindings = [_binding(head, subjects) for head, subjects in _blocks(BINDINGS)]
    for role, _ in _blocks(CONTROLLER_ROLES):
        account = f"ServiceAccount kube-system/{role.removeprefix(_CONTROLLER)}"
        bindings.append(_binding(f"{role} = ClusterRole {role}", [account]))
    return bindings


def component_roles() -> list[Raw]:
    """Return the ClusterRoles of Moorage's own components, and of the metrics API."""
    return [_role(head, rules) for head, rules in _blocks(COMPONENT_ROLES + METRICS_ROLES)]


def component_bindings() -> list[Raw]:
    """Return what binds the roles of components to their users in `moorage up`."""
    return [_binding(head, subjects) for head, subjects in _blocks(COMPONENT_BINDINGS)]


def component_policy(users: Mapping[str, str]) -> list[Raw]:
    """Return the roles of Moorage's own components, bound to these users instead of those in `moorage up`."""
    documents = added_policy(COMPONENT_ROLES, COMPONENT_BINDINGS + SINGLE_PROCESS_BINDINGS)
    for binding in documents:
        if "subjects" in binding:
            binding["subjects"] = [_user_subject(users[subject["name"]]) for subject in binding["subjects"]]
    return documents


def added_policy(roles: str, bindings: str) -> list[Raw]:
    """Return roles and bindings of such tables that are not those of every cluster, and are not completed by it."""
    documents = [_role(head, rules) for head, rules in _blocks(roles)]
    documents += [_binding(head, subjects) for head, subjects in _blocks(bindings)]
    for document in documents:
        metadata = document["metadata"]
        document["metadata"] = {name: metadata[name] for name in ("name", "namespace") if name in metadata}
    return documents


def _user_subject(user: str) -> Raw:
    namespace, account = account_of_user(user)
    return _subject("ServiceAccount", f"{namespace}/{account}") if account else _subject("User", user)


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each line that is not indented, with the indented ones below it."""
    head, lines = "", list[str]()
    for line in text.replace("\n    ", " ").splitlines():
        if line.startswith(" "):
            lines.append(line.strip())
        elif line:
            if head:
                yield head, lines
            head, lines = line, []
    yield head, lines


def _role(head: str, rules: list[str]) -> Raw:
    name, *marks = head.split(" ")
    pairs = list(zip(marks[::2], marks[1::2], strict=True))
    role = _document("Role" if "/" in name else "ClusterRole", name)
    role["metadata"]["labels"] |= {_AGGREGATE_TO + label: "true" for mark, label in pairs if mark == ">"}
    role["rules"] = [_rule(line.split(" | ")) for line in rules]
    selectors = [{"matchLabels": {_AGGREGATE_TO + label: "true"}} for mark, label in pairs if mark == "<"]
    if selectors:
        role["aggregationRule"] = {"clusterRoleSelectors": selectors}
    return role


def _rule(parts: list[str]) -> Raw:
    verbs = _VERBS.get(parts[0]) or parts[0].split()
    if len(parts) == 2:
        return {"verbs": list(verbs), "nonResourceURLs": parts[1].split()}
    groups = ["" if group == "core" else group for group in parts[1].split()]
    rule: Raw = {"verbs": list(verbs), "apiGroups": groups, "resources": parts[2].split()}
    if len(parts) > 3:
        rule["resourceNames"] = parts[3].split()
    return rule


def _binding(head: str, subjects: list[str]) -> Raw:
    name, _, role = head.partition(" = ")
    kind, _, role_name = role.partition(" ")
    binding = _document("RoleBinding" if "/" in name else "ClusterRoleBinding", name)
    binding["roleRef"] = {"apiGroup": _GROUP, "kind": kind, "name": role_name}
    if subjects:
        binding["subjects"] = [_subject(*line.split(" ")) for line in subjects]
    return binding


def _subject(kind: str, name: str) -> Raw:
    if kind != "ServiceAccount":
        return {"apiGroup": _GROUP, "kind": kind, "name": name}
    namespace, _, name = name.partition("/")
    return {"kind": kind, "name": name, "namespace": namespace}


def _document(kind: str, name: str) -> Raw:
    namespace, _, name = name.rpartition("/")
    metadata: Raw = {
        "name": name,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {AUTO_UPDATE: "true"},
    }
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata}
