"""The users and ClusterRoles of Moorage's own components, in the format that `policy` reads.

`moorage roles` prints the same ones for other clusters. The scheduler's user also has Kubernetes' own roles.
The garbage collector and the namespace controller must read, change and delete whatever there is: they have Kubernetes'
own roles, in `moorage up` as service accounts of their own. The other controllers share one identity, which writes only
what one of them writes. Kubernetes: `system:kube-scheduler`, `system:controller:*`, `system:node`.
"""

from typing import Final

from moorage.serve.pki.authentication import AUTHENTICATED, User, service_account_user

SCHEDULER: Final = User("system:kube-scheduler", groups=(AUTHENTICATED,))
CONTROLLER_MANAGER: Final = User("system:kube-controller-manager", groups=(AUTHENTICATED,))
KUBELETS: Final = User("moorage:kubelet", groups=(AUTHENTICATED,))
#: Controllers with an identity of their own: service accounts that Kubernetes' role of the same name is bound to.
CONTROLLERS: Final = {
    "garbage-collector-controller": service_account_user("kube-system", "generic-garbage-collector", "", {}),
    "namespace-controller": service_account_user("kube-system", "namespace-controller", "", {}),
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
  read | resource.k8s.io | deviceclasses devicetaintrules
  create delete deletecollection get list patch update watch | resource.k8s.io | resourceslices
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
"""
