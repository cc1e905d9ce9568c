"""What pods and nodes use with kubectl: top, raw metrics APIs, autoscalers that scale by them."""

import json
import time
from collections.abc import Callable

from tests.e2e.kubectl import TIMEOUT_SECONDS, Kubectl, Ran

UP_OPTIONS = ("--nodes", "2")
_MANIFEST = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {simulate.moorage.dev/load: cpu=1200m; hits=90}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations: {simulate.moorage.dev/usage: memory=64Mi; side/cpu=10m}
    spec:
      containers:
        - {name: web, image: web:1, resources: {requests: {cpu: 500m}}}
        - {name: side, image: web:1, resources: {requests: {cpu: 20m}}}
"""


def until(kubectl: Kubectl, arguments: str, is_there: Callable[[Ran], bool]) -> None:
    """Run a command until it shows what is expected."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while not is_there(ran := kubectl.run(arguments)):
        assert time.monotonic() < end, ran
        time.sleep(1)


def test_usage_is_shown_sorted_and_scaled_by(kubectl: Kubectl) -> None:
    kubectl("apply -f -", _MANIFEST)
    # kubectl before 1.34 knows the older name of the flag only.
    share = "--cpu=50%" if "--cpu=" in kubectl("autoscale --help").out else "--cpu-percent=50"
    kubectl(f"autoscale deployment web {share} --min=2 --max=5")
    assert kubectl("get hpa web -o jsonpath={.spec.metrics[0].resource.target.averageUtilization}").out == "50"
    until(kubectl, "top pod -l app=web", lambda ran: len(ran.lines) >= 4)
    containers = {tuple(row.split()[1:]) for row in kubectl("top pod --containers --sort-by=memory").lines[1:]}
    assert ("side", "10m", "0Mi") in containers
    assert {row.split()[-1] for row in kubectl("top pod --sum").lines[1:4]} == {"64Mi"}
    assert [len(line.split()) for line in kubectl("top node").lines] == [5, 5, 5]
    until(kubectl, "get hpa web -o jsonpath={.status.desiredReplicas}", lambda ran: ran.out == "5")
    described = kubectl("describe hpa web").out
    assert "New size: 5; reason: cpu resource utilization (percentage of request) above target" in described
    prefix = "/apis/custom.metrics.k8s.io/v1beta2"
    values = json.loads(kubectl(f"get --raw {prefix}/namespaces/{kubectl.namespace}/pods/*/hits").out)
    assert {item["describedObject"]["kind"] for item in values["items"]} == {"Pod"}
    assert "pods/hits" in {one["name"] for one in json.loads(kubectl(f"get --raw {prefix}").out)["resources"]}
    assert "v1beta1.metrics.k8s.io" in kubectl("get apiservices -o name").out
    kubectl("create rolebinding viewer --clusterrole=view --user=bob")
    until(kubectl, "auth can-i list pods.metrics.k8s.io --as bob", lambda ran: ran.out.strip() == "yes")
    refused = kubectl.run("top pod --as jane")
    assert 'User "jane" cannot list resource "pods" in API group "metrics.k8s.io"' in refused.err
