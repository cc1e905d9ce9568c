"""Everyday kubectl commands, in an order in which one would type them, with what they read.

A command that starts with `wait` or `rollout status` only waits. What differs from run to run is masked.
"""

import re
from typing import NamedTuple

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: nginx
        image: nginx:1.27
        ports: [{name: http, containerPort: 80}]
        resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 128Mi}}
"""
STATEFUL_SET = """\
apiVersion: v1
kind: Service
metadata: {name: db}
spec: {clusterIP: None, selector: {app: db}, ports: [{name: sql, port: 5432}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: sql, image: "postgres:17", ports: [{name: sql, containerPort: 5432}]}]}
"""
DAEMON_SET = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      hostNetwork: false
      nodeSelector: {}
      tolerations: []
      securityContext: {}
      containers: [{name: agent, image: "agent:1", stdin: false, env: [{name: EMPTY, value: ""}], volumeMounts: []}]
"""
NO_SUCH_NODE = """\
apiVersion: v1
kind: Pod
metadata: {name: picky}
spec:
  nodeSelector: {disktype: quantum}
  containers: [{name: main, image: busybox}]
"""
QUOTA = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: small}
spec: {hard: {pods: "1", requests.cpu: "1"}}
"""
LIMITS = """\
apiVersion: v1
kind: LimitRange
metadata: {name: defaults}
spec: {limits: [{type: Container, default: {cpu: 500m}, defaultRequest: {cpu: 100m}, max: {cpu: "2"}}]}
"""
INGRESS = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  ingressClassName: nginx
  rules:
  - host: web.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
"""
NETWORK_POLICY = """\
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: same-namespace}
spec: {podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}
"""
CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: none-such, resources: {requests: {storage: 1Gi}}}
"""
DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.harbour.example.com}
spec:
  group: harbour.example.com
  names: {kind: Boat, plural: boats, shortNames: [bt], categories: [all]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Length, type: integer, jsonPath: .spec.length}]
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [length]
            properties:
              length: {type: integer, minimum: 1, description: Length in metres.}
              sail: {type: string, default: main}
            x-kubernetes-validations: [{rule: self.length < 500, message: too long for the harbour}]
          status: {type: object, properties: {moored: {type: boolean}}}
"""
BOAT = "{apiVersion: harbour.example.com/v1, kind: Boat, metadata: {name: %s}, spec: {length: %s}}"
ROLE_BINDING = "create rolebinding readers --clusterrole=view --user=ada"


class Typed(NamedTuple):
    """One command, and what is piped into it. The status alone counts if its words depend on where pods are."""

    command: str
    stdin: str = ""
    has_same_words: bool = True


COMMANDS = [
    Typed("api-versions"),
    Typed("api-resources --no-headers --sort-by=name -o wide"),
    Typed("get nodes"),
    Typed("get namespaces"),
    Typed("get priorityclasses"),
    Typed("auth whoami"),
    Typed("auth can-i create pods"),
    Typed("create namespace team"),
    Typed("apply -f -", DEPLOYMENT),
    Typed("rollout status deployment/web"),
    Typed("get deployments"),
    Typed("get deployments -o wide"),
    Typed("get rs -l app=web"),
    Typed("get pods -l app=web"),
    Typed("get pods -l app=web -o wide"),
    Typed("get pods -l app=web -o jsonpath='{.items[*].status.phase}'"),
    Typed("get deployment web -o yaml"),
    Typed("apply -f -", DEPLOYMENT),
    Typed("diff -f -", DEPLOYMENT),
    Typed("expose deployment web --port=80 --target-port=http"),
    Typed(
        "wait --for=jsonpath='{.endpoints[2].conditions.ready}'=true endpointslice -l kubernetes.io/service-name=web"
    ),
    Typed("get service web"),
    Typed("get endpoints web"),
    Typed("describe service web"),
    Typed("describe deployment web"),
    Typed("scale deployment web --replicas=4"),
    Typed("rollout status deployment/web"),
    Typed("set image deployment/web nginx=nginx:1.28"),
    Typed("rollout status deployment/web"),
    Typed("rollout history deployment/web"),
    Typed("rollout undo deployment/web"),
    Typed("rollout status deployment/web"),
    Typed("rollout history deployment/web --revision=3"),
    Typed("set resources deployment/web --requests=cpu=150m"),
    Typed("rollout status deployment/web"),
    Typed("annotate deployment web note=hello"),
    Typed("label deployment web tier=front"),
    Typed("label deployment web tier=back"),
    Typed('patch deployment web -p \'{"spec":{"replicas":2}}\''),
    Typed("rollout status deployment/web"),
    Typed("apply -f -", STATEFUL_SET),
    Typed("rollout status statefulset/db"),
    Typed("get statefulsets"),
    Typed("get pods -l app=db"),
    Typed("apply -f -", DAEMON_SET),
    Typed("rollout status daemonset/agent"),
    Typed("get daemonsets"),
    Typed("set image daemonset/agent agent=agent:2"),
    Typed("rollout status daemonset/agent"),
    Typed("rollout history daemonset/agent"),
    Typed("rollout undo daemonset/agent"),
    Typed("rollout status daemonset/agent"),
    Typed("create job once --image=busybox -- true"),
    Typed("get jobs"),
    Typed("create cronjob nightly --image=busybox --schedule='0 3 * * *' -- true"),
    Typed("get cronjobs"),
    Typed("create configmap settings --from-literal=a=1 --from-literal=b=2"),
    Typed("get configmap settings -o yaml"),
    Typed("create secret generic login --from-literal=password=pea"),
    Typed("get secret login -o jsonpath='{.data.password}'"),
    Typed("describe secret login"),
    Typed("create serviceaccount robot"),
    Typed("create quota tight --hard=pods=10 -n team"),
    Typed("apply -n team -f -", LIMITS),
    Typed("describe limitrange defaults -n team"),
    Typed("run one --image=busybox -n team"),
    Typed("wait --for=condition=Ready pod/one -n team"),
    Typed("get pod one -n team -o jsonpath='{.spec.containers[0].resources}'"),
    Typed("wait --for=jsonpath='{.status.used.pods}'=1 quota/tight -n team"),
    Typed("describe quota tight -n team"),
    Typed("apply -f -", NO_SUCH_NODE),
    Typed("wait --for=condition=PodScheduled=false pod/picky"),
    Typed("get pod picky"),
    Typed("describe pod picky"),
    Typed("apply -f -", CLAIM),
    Typed("get pvc"),
    Typed("apply -f -", INGRESS),
    Typed("get ingress"),
    Typed("describe ingress web"),
    Typed("apply -f -", NETWORK_POLICY),
    Typed("describe networkpolicy same-namespace"),
    Typed("autoscale deployment web --min=1 --max=3 --cpu=50%"),
    Typed("get hpa"),
    Typed("create poddisruptionbudget web --selector=app=web --min-available=1"),
    Typed("wait --for=jsonpath='{.status.currentHealthy}'=2 pdb/web"),
    Typed("get pdb"),
    Typed(ROLE_BINDING),
    Typed("auth can-i list pods --as=ada"),
    Typed("auth can-i delete pods --as=ada"),
    Typed("get pods --as=ada -l app=none"),
    Typed("delete pod one --as=ada -n team"),
    Typed("describe clusterrole view"),
    Typed("apply -f -", DEFINITION),
    Typed("wait --for=condition=Established crd/boats.harbour.example.com"),
    Typed("apply -f -", BOAT % ("dinghy", 3)),
    Typed("apply -f -", BOAT % ("tanker", 600)),
    Typed("apply -f -", BOAT % ("toy", 0)),
    Typed("get boats"),
    Typed("get bt dinghy -o yaml"),
    Typed("explain boat.spec"),
    Typed("explain deployment.spec.replicas"),
    Typed("cordon node-2"),
    Typed("get node node-2"),
    Typed("taint node node-3 dedicated=db:NoSchedule"),
    Typed("uncordon node-2"),
    Typed("drain node-1 --ignore-daemonsets --delete-emptydir-data --force", has_same_words=False),
    Typed("get node node-1"),
    Typed("delete deployment web --wait=true"),
    Typed("delete crd boats.harbour.example.com"),
    Typed("get boats -o name"),
    Typed("delete namespace team --wait=true"),
    Typed("get namespace team"),
    Typed("apply --server-side -f -", DEPLOYMENT),
    Typed("delete -f -", DEPLOYMENT),
    Typed("get nosuchthing"),
    Typed("get pod nosuchpod"),
    Typed("create deployment bad_name --image=x"),
]

_MASKS = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "UID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC"), "TIME"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"), "TIME"),
    (re.compile(r"X509SHA256=[0-9a-f]{64}"), "X509SHA256"),
    (re.compile(r'resourceVersion: "\d+"'), "resourceVersion: RV"),
    (re.compile(r"\b((\d+d)?(\d+h)?(\d+m)?\d+s|[2-9]m\b)( \(x\d+ over [\dhms]+\))?"), "AGE"),
    (re.compile(r"\b10\.\d+\.\d+\.\d+\b"), "IP"),
    (re.compile(r"\bnode-\d\b"), "NODE"),
    (re.compile(r"\b(web|agent)-[0-9a-z]{8,10}-[0-9a-z]{5}\b"), r"\1-HASH-POD"),
    (re.compile(r"\bweb-[0-9a-f]{8,10}\b"), "web-HASH"),
    (re.compile(r"\bagent-[0-9a-z]{5}\b"), "agent-POD"),
    (re.compile(r"\bonce-[0-9a-z]{5}\b"), "once-POD"),
    (re.compile(r"pod-template-hash[=:] ?\S+"), "pod-template-hash=HASH"),
)
_BLANKS = re.compile(r"[ \t]+")


def masked(text: str) -> str:
    """Return what was printed without what differs from run to run, and with single blanks."""
    for pattern, shown in _MASKS:
        text = pattern.sub(shown, text)
    return "\n".join(_BLANKS.sub(" ", line).strip() for line in text.splitlines())
