"""Services with kubectl: pods behind them, load balancers; ReplicationControllers; claims without a class."""

import re

from tests.e2e.kubectl import Kubectl

UP_OPTIONS = ("--nodes", "2")
MANIFEST = """
apiVersion: v1
kind: ReplicationController
metadata: {name: web}
spec:
  replicas: 2
  template:
    metadata: {labels: {app: front}}
    spec:
      containers: [{name: c, image: nginx, ports: [{name: http, containerPort: 8080}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, selector: {app: front}, ports: [{port: 80, targetPort: http}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: db}
spec:
  containers: [{name: c, image: x}]
  volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]
"""


def test_a_service_of_a_replication_controller(kubectl: Kubectl) -> None:
    kubectl("apply -f -", MANIFEST)
    kubectl("wait --for=jsonpath={.status.readyReplicas}=2 rc/web --timeout=120s")
    kubectl("wait --for=jsonpath={.status.loadBalancer.ingress[0].ipMode}=VIP svc/web --timeout=120s")
    assert re.search(r"^web +LoadBalancer +10\S+ +198\.1[89]\.\S+ +80:3\d+/TCP", kubectl("get svc web").lines[1])
    kubectl("wait --for=jsonpath={.endpoints[1].conditions.ready}=true endpointslice --all --timeout=120s")
    assert re.search(r"^Endpoints: +10\.\S+:8080,10\.\S+:8080$", kubectl("describe svc web").out, re.MULTILINE)
    assert kubectl("scale rc web --replicas=1").out == "replicationcontroller/web scaled\n"
    kubectl("wait --for=jsonpath={.status.replicas}=1 rc/web --timeout=120s")
    assert kubectl("get rc web --no-headers").out.split()[:3] == ["web", "1", "1"]
    kubectl("delete rc web --cascade=orphan")
    assert len(kubectl("get pods -l app=front -o name").lines) >= 1
    kubectl("wait --for=jsonpath={.status.phase}=Bound pvc/data --timeout=120s")
    assert kubectl("get pvc data -o jsonpath={.spec.storageClassName}").out == "standard"
    assert kubectl("get configmap kube-root-ca.crt -o jsonpath={.data}").out.startswith('{"ca.crt":"-----BEGIN')
    said = kubectl("describe svc kubernetes -n default").out
    assert re.search(r"^Endpoints: +\S+:\d+$", said, re.MULTILINE)
    kubectl("delete pods --all --wait=false")  # modules share the nodes
