"""Name the users as whom components ask the API server, for what policies read of requests that are simulated.

Each controller has the service account that it has in Kubernetes (`--use-service-account-credentials`); manifests are
applied by an administrator. Kubernetes: cmd/kube-controller-manager, the names given to NewClient.
"""

from typing import Final

from moorage.serve.pki.authentication import ADMIN, AUTHENTICATED, User, account_groups, account_user_name

_SYSTEM: Final = "kube-system"
#: Service accounts that are called otherwise than their controllers.
_ACCOUNTS: Final = {
    "daemonset-controller": "daemon-set-controller",
    "endpoints-controller": "endpoint-controller",
    "endpointslice-mirroring-controller": "endpointslicemirroring-controller",
    "garbage-collector-controller": "generic-garbage-collector",
    "node-lifecycle-controller": "node-controller",
    "persistentvolume-binder-controller": "persistent-volume-binder",
    "persistentvolume-protection-controller": "pv-protection-controller",
    "persistentvolumeclaim-protection-controller": "pvc-protection-controller",
    "pod-garbage-collector-controller": "pod-garbage-collector",
    "replicationcontroller-controller": "replication-controller",
    "resourceclaim-controller": "resource-claim-controller",
    "root-ca-certificate-publisher-controller": "root-ca-cert-publisher",
    "service-lb-controller": "service-controller",
    "serviceaccount-controller": "service-account-controller",
    "taint-eviction-controller": "node-controller",
}
_CONTROLLER: Final = "-controller"
_KUBELET, _SCHEDULER = "kubelet", "scheduler"


#: Who makes the pods of a kind of workload.
_MAKERS: Final = {
    "Deployment": "replicaset-controller",
    "ReplicaSet": "replicaset-controller",
    "ReplicationController": "replicationcontroller-controller",
    "StatefulSet": "statefulset-controller",
    "DaemonSet": "daemonset-controller",
    "Job": "job-controller",
    "CronJob": "job-controller",
}


def maker_of_pods(kind: str) -> User:
    """Return the user who creates the pods of a workload; those of any other kind are an administrator's."""
    return controller_user(_MAKERS[kind]) if kind in _MAKERS else ADMIN


def user_of(actor: str) -> User:
    """Return the user of a controller, of the scheduler or a kubelet; anyone else is an administrator."""
    if actor.endswith(_CONTROLLER):
        return controller_user(actor)
    if actor == _SCHEDULER:
        return User("system:kube-scheduler", groups=(AUTHENTICATED,))
    if actor == _KUBELET:
        return User("system:node", groups=("system:nodes", AUTHENTICATED))
    return ADMIN


def controller_user(name: str) -> User:
    """Return the user of a controller."""
    account = _ACCOUNTS.get(name, name)
    return User(account_user_name(_SYSTEM, account), groups=(*account_groups(_SYSTEM), AUTHENTICATED))
