"""Workloads that every pair of scheduler, controllers and API server must be able to run.

Each function does what its name says with a cluster's user, and fails where the cluster does something else.
"""

import json

from tests.e2e.component_processes import until
from tests.interop.cluster_user import ClusterUser
from tests.interop.everyday_commands import DAEMON_SET, DEPLOYMENT, STATEFUL_SET

BOATS = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.interop.test}
spec:
  group: interop.test
  scope: Namespaced
  names: {plural: boats, kind: Boat}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
"""
BOAT = """\
apiVersion: interop.test/v1
kind: Boat
metadata: {name: anna}
"""
PRIORITIES = """\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
"""
FULL = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: filler}
spec:
  replicas: 3
  selector: {matchLabels: {app: filler}}
  template:
    metadata: {labels: {app: filler}}
    spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: x, resources: {requests: {cpu: "6"}}}]}
"""
URGENT = """\
apiVersion: v1
kind: Pod
metadata: {name: urgent}
spec:
  priorityClassName: urgent
  containers: [{name: main, image: x, resources: {requests: {cpu: "6"}}}]
"""
LOCAL_VOLUME = """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: local
  local: {path: /mnt/disk}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [
    {key: kubernetes.io/hostname, operator: In, values: [node-2]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: local, resources: {requests: {storage: 5Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: reader}
spec:
  containers: [{name: main, image: x, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: sums}
spec:
  completions: 3
  parallelism: 2
  template:
    metadata: {annotations: {simulate.moorage.dev/completes-after: 1s}}
    spec: {restartPolicy: Never, containers: [{name: main, image: x}]}
"""
CRON_JOB = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: minutely}
spec:
  schedule: "* * * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}}
"""


CLAIMS = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: trainer}
spec:
  terminationGracePeriodSeconds: 0
  resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
  containers: [{name: main, image: x, resources: {requests: {cpu: "1"}, claims: [{name: gpu}]}}]
"""
RESIZED = """\
apiVersion: v1
kind: Pod
metadata: {name: growing}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: x, resources: {requests: {cpu: "1"}, limits: {cpu: "2"}}}]
"""


def claims_are_allocated_and_prepared(user: ClusterUser) -> None:
    """The scheduler allocates and reserves, the kubelet reports about devices, the controller lets claims go."""
    user.apply(CLAIMS)
    user.wait("condition=Ready", "pod/trainer")
    [claim] = user.items("resourceclaims")
    status = claim["status"]
    assert [consumer["name"] for consumer in status["reservedFor"]] == ["trainer"]
    assert status["allocation"]["devices"]["results"][0]["driver"] == "gpu.example.com"
    until(lambda: "devices" in user.items("resourceclaims")[0]["status"])
    user("delete pod trainer")
    user.gone("resourceclaims")


def pods_are_resized_in_place(user: ClusterUser) -> None:
    user.apply(RESIZED)
    user.wait("condition=Ready", "pod/growing")
    before = user.get("pod growing")["status"]["containerStatuses"][0]
    assert before["resources"] == {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
    assert before["allocatedResources"] == {"cpu": "1"}
    resources = {"requests": {"cpu": "1500m"}, "limits": {"cpu": "2"}}
    patch = {"spec": {"containers": [{"name": "main", "resources": resources}]}}
    user(f"patch pod growing --subresource=resize --patch='{json.dumps(patch)}'")
    user.wait("jsonpath='{.status.containerStatuses[0].resources.requests.cpu}'=1500m", "pod/growing")
    after = user.get("pod growing")["status"]["containerStatuses"][0]
    assert (after["resources"], after["restartCount"]) == (resources, 0)
    assert after["containerID"] == before["containerID"]
    user("delete pod growing")


def deployments_roll_out_and_back(user: ClusterUser) -> None:
    user.apply(DEPLOYMENT)
    user.rolled_out("deployment/web")
    user("set image deployment/web nginx=nginx:1.28")
    user.rolled_out("deployment/web")
    user("rollout undo deployment/web")
    user.rolled_out("deployment/web")
    assert user.get("deployment web")["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.27"


def daemon_sets_and_stateful_sets_roll_back(user: ClusterUser) -> None:
    """The revision that a rollback finds must be the one that was there before: none is made twice."""
    user.apply(DAEMON_SET)
    user.apply(STATEFUL_SET)
    for what, container in (("daemonset/agent", "agent"), ("statefulset/db", "sql")):
        user.rolled_out(what)
        user(f"set image {what} {container}=other:2")
        user.rolled_out(what)
        user(f"rollout undo {what}")
        user.rolled_out(what)
    owned = [one["metadata"]["ownerReferences"][0]["kind"] for one in user.items("controllerrevisions")]
    assert sorted(owned) == ["DaemonSet", "DaemonSet", "StatefulSet", "StatefulSet"]


def services_have_the_ready_pods(user: ClusterUser) -> None:
    user.apply(DEPLOYMENT)
    user.rolled_out("deployment/web")
    user("expose deployment web --port=80")
    addresses = {pod["status"]["podIP"] for pod in user.items("pods -l app=web")}
    until(lambda: _in_slices(user, "web") == addresses)
    until(lambda: _in_endpoints(user, "web") == addresses)


def _in_slices(user: ClusterUser, service: str) -> set[str]:
    slices = user.items(f"endpointslices -l kubernetes.io/service-name={service}")
    endpoints = [endpoint for found in slices for endpoint in found["endpoints"] or ()]
    return {address for endpoint in endpoints if endpoint["conditions"]["ready"] for address in endpoint["addresses"]}


def _in_endpoints(user: ClusterUser, service: str) -> set[str]:
    subsets = [
        subset
        for found in user.items("endpoints")
        for subset in found.get("subsets", ())
        if found["metadata"]["name"] == service
    ]
    return {address["ip"] for subset in subsets for address in subset.get("addresses", ())}


def budgets_are_counted(user: ClusterUser) -> None:
    user("create poddisruptionbudget web --selector=app=web --min-available=2")
    user.wait("jsonpath='{.status.disruptionsAllowed}'=1", "pdb/web")


def jobs_complete(user: ClusterUser) -> None:
    user.apply(JOB)
    user.wait("condition=Complete", "job/sums")


def owners_take_their_dependents_along(user: ClusterUser) -> None:
    user("delete deployment web --cascade=foreground")
    user.gone("rs,pods -l app=web")


def namespaces_end_with_all_they_hold(user: ClusterUser) -> None:
    user("create namespace short")
    user("apply -n short -f -", DEPLOYMENT)
    user("rollout status deployment/web -n short --timeout=200s")
    user("create configmap settings --from-literal=a=1 -n short")
    user("delete namespace short --timeout=200s")


def custom_objects_own_and_are_owned(user: ClusterUser) -> None:
    user.apply(BOATS)
    user.wait("condition=Established", "crd/boats.interop.test")
    user("create namespace harbour")
    until(lambda: user.run("create -n harbour -f -", BOAT).status == 0)  # once discovery knows it
    boat = user.get("boat anna -n harbour")["metadata"]["uid"]
    owner = {"apiVersion": "interop.test/v1", "kind": "Boat", "name": "anna", "uid": boat}
    for document in (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cargo", "ownerReferences": [owner]}},
        {"apiVersion": "interop.test/v1", "kind": "Boat", "metadata": {"name": "dinghy", "ownerReferences": [owner]}},
    ):
        user("create -n harbour -f -", json.dumps(document))
    user("delete boat anna -n harbour --cascade=foreground --timeout=200s")
    user.gone("configmap/cargo -n harbour")
    user.gone("boat/dinghy -n harbour")
    user("create -n harbour -f -", BOAT)
    user("delete namespace harbour --timeout=200s")
    user.gone("boats -A")
    user("delete crd boats.interop.test --timeout=200s")


def urgent_pods_preempt(user: ClusterUser) -> None:
    """Three nodes of 8 CPUs are full with pods of 6; one of them has to go."""
    user.apply(PRIORITIES)
    user.apply(FULL)
    user.rolled_out("deployment/filler")
    user.apply(URGENT)
    user.wait("condition=Ready", "pod/urgent")
    user("delete deployment filler")
    user("delete pod urgent --now")


def volumes_bind_where_the_pod_goes(user: ClusterUser) -> None:
    user.apply(LOCAL_VOLUME)
    user.wait("condition=Ready", "pod/reader")
    assert user.get("pod reader")["spec"]["nodeName"] == "node-2"
    user.wait("jsonpath='{.status.phase}'=Bound", "pvc/data")


def quotas_are_counted(user: ClusterUser) -> None:
    user("create namespace counted")
    user("create quota few --hard=pods=2,configmaps=5 -n counted")
    user("create deployment web --image=x --replicas=3 -n counted")
    user("wait --for=jsonpath='{.status.used.pods}'=2 quota/few -n counted --timeout=200s")
    until(lambda: "exceeded quota: few" in user("get events -n counted --field-selector reason=FailedCreate").out)
    user("delete deployment web -n counted")
    user("wait --for=jsonpath='{.status.used.pods}'=0 quota/few -n counted --timeout=200s")


def controllers_do_their_work(user: ClusterUser) -> None:
    """Try what controllers are for, one after the other."""
    deployments_roll_out_and_back(user)
    daemon_sets_and_stateful_sets_roll_back(user)
    services_have_the_ready_pods(user)
    budgets_are_counted(user)
    jobs_complete(user)
    quotas_are_counted(user)
    owners_take_their_dependents_along(user)
    namespaces_end_with_all_they_hold(user)
    custom_objects_own_and_are_owned(user)
    volumes_bind_where_the_pod_goes(user)
