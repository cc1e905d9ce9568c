"""Devices, claims and classes as kubectl shows them."""

import json
import re
import time

from tests.e2e.kubectl import Kubectl

UP_OPTIONS = ("--nodes", "2", "--devices", "gpu.example.com=2", "--feature-gates", "DRADeviceTaintRules=true")

CLASS = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec:
  selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]
"""
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: one}
spec:
  devices:
    requests: [{name: gpu, exactly: {deviceClassName: gpu, count: 2}}]
"""
RULE = """\
apiVersion: resource.k8s.io/v1beta2
kind: DeviceTaintRule
metadata: {name: drain}
spec:
  deviceSelector: {driver: nic.example.com}
  taint: {key: example.com/bad, value: "7", effect: NoSchedule}
"""


def eventually(kubectl: Kubectl, arguments: str) -> str:
    """What a command prints, as soon as that is anything."""
    deadline = time.monotonic() + 60
    while not (printed := kubectl(arguments).out) and time.monotonic() < deadline:
        time.sleep(0.1)
    return printed


def test_slices_of_simulated_drivers(kubectl: Kubectl) -> None:
    ran = kubectl("get resourceslices")
    assert ran.lines[0].split() == ["NAME", "NODE", "DRIVER", "POOL", "AGE"]
    for number, line in enumerate(ran.lines[1:], 1):
        node = f"node-{number}"
        assert re.fullmatch(rf"00000-gpu\.example\.com-{node}-\w+ +{node} +gpu\.example\.com +{node} +\d+s", line)
    (one,) = json.loads(kubectl("get resourceslices --field-selector spec.nodeName=node-2 -o json").out)["items"]
    assert [device["name"] for device in one["spec"]["devices"]] == ["gpu-0", "gpu-1"]
    told = kubectl(f"describe resourceslice {one['metadata']['name']}").out
    assert re.search(r"Resource Slice Count: +1", told)
    assert re.search(r"Node Name: +node-2", told)


def test_the_devices_of_a_node_can_be_changed(kubectl: Kubectl) -> None:
    annotation = "simulate.moorage.dev/devices"
    kubectl(f"annotate node node-1 --overwrite {annotation}=gpu.example.com=2,nic.example.com=1")
    selected = "resourceslice --field-selector spec.nodeName=node-1,spec.driver=nic.example.com"
    assert eventually(kubectl, f"get {selected} -o jsonpath={{.items[*].spec.devices[0].name}}") == "nic-0"
    kubectl(f"annotate node node-1 --overwrite {annotation}=gpu.example.com=2")
    kubectl(f"wait --for=delete {selected} --timeout=60s")


def test_claims_and_classes(kubectl: Kubectl) -> None:
    kubectl("apply -f -", CLASS)
    kubectl("apply -f -", CLAIM)
    ran = kubectl("get resourceclaims")
    assert ran.lines[0].split() == ["NAME", "STATE", "AGE"]
    assert re.fullmatch(r"one +pending +\d+s", ran.lines[1])
    told = kubectl("describe resourceclaim one").out
    assert re.search(r"Allocation Mode: +ExactCount", told)
    assert re.search(r"Count: +2", told)
    assert re.search(r'Expression: +device.driver == "gpu.example.com"', kubectl("describe deviceclass gpu").out)
    assert kubectl("get deviceclass gpu").lines[0].split() == ["NAME", "AGE"]
    assert (
        kubectl("get resourceclaims.v1beta1.resource.k8s.io one -o jsonpath={.spec.devices.requests[0].count}").out
        == "2"
    )


def test_taint_rules(kubectl: Kubectl) -> None:
    kubectl("apply -f -", RULE)
    ran = kubectl("get devicetaintrules")
    assert ran.lines[0].split() == ["NAME", "KEY", "VALUE", "EFFECT", "TIMEADDED", "AGE"]
    assert ran.lines[1].split()[:4] == ["drain", "example.com/bad", "7", "NoSchedule"]
    assert re.search(r"Driver: +nic.example.com", kubectl("describe devicetaintrule drain").out)
    kubectl("delete devicetaintrule drain")


def test_explain(kubectl: Kubectl) -> None:
    told = kubectl("explain resourceclaim.spec.devices.requests.exactly").out
    assert "KIND:       ResourceClaim" in told
    for field in ("adminAccess", "allocationMode", "capacity", "count", "deviceClassName", "selectors", "tolerations"):
        assert f"\n  {field}\t<" in told
    for kind in ("resourceslice", "deviceclass", "devicetaintrule", "resourceclaimtemplate"):
        assert "FIELDS:" in kubectl(f"explain {kind}.spec --recursive").out
    assert "resourceClaims\t<[]PodResourceClaim>" in kubectl("explain pod.spec").out


USERS = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: all-gpus}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: shared}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: all-gpus}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: own}
spec:
  terminationGracePeriodSeconds: 0
  resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
  containers: [{name: c, image: "c:1", resources: {claims: [{name: gpu}]}}]
"""
SHARING = """\
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 0
  resourceClaims: [{name: gpu, resourceClaimName: shared}]
  containers: [{name: c, image: "c:1", resources: {claims: [{name: gpu}]}}]
"""
DEVICE = "{.status.allocation.devices.results[0].pool}/{.status.allocation.devices.results[0].device}"


def test_the_life_of_claims(kubectl: Kubectl) -> None:
    kubectl("apply -f -", CLASS.replace("name: gpu}", "name: all-gpus}"))
    kubectl("apply -f -", USERS)
    for name in ("one", "two"):
        kubectl("apply -f -", SHARING.replace("NAME", name))
    kubectl("wait --for=condition=Ready pod --all --timeout=60s")
    states = {row[0]: row[1].strip() for row in kubectl("get resourceclaims").rows}
    (generated,) = states.keys() - {"shared"}
    assert re.fullmatch(r"own-gpu-\w{5}", generated)
    assert set(states.values()) == {"allocated,reserved"}
    used = [kubectl(f"get resourceclaim {name} -o jsonpath='{DEVICE}'").out for name in states]
    assert len(set(used)) == 2
    assert "resource.kubernetes.io/delete-protection" in kubectl("get resourceclaim shared -o yaml").out
    node = kubectl("get pod one -o jsonpath={.spec.nodeName}").out
    assert kubectl("get pod two -o jsonpath={.spec.nodeName}").out == node
    kubectl("wait --for=jsonpath='{.status.devices[0].conditions[0].type}'=Ready resourceclaim --all --timeout=60s")
    told = kubectl("describe resourceclaim shared").out
    assert re.search(r"Reason: +DevicePrepared", told)
    assert re.findall(r"Resource: +pods", told) == ["Resource:  pods"] * 2
    assert f"{generated}" in kubectl("get pod own -o jsonpath={.status.resourceClaimStatuses[0].resourceClaimName}").out
    kubectl("delete pod own one")
    kubectl(f"wait --for=delete resourceclaim/{generated} --timeout=60s")
    kubectl("wait --for=jsonpath='{.status.reservedFor[*].name}'=two resourceclaim/shared --timeout=60s")
    kubectl("delete resourceclaim shared --wait=false")
    assert "shared" in kubectl("get resourceclaims").out
    kubectl("delete pod two")
    kubectl("wait --for=delete resourceclaim/shared --timeout=60s")


def test_a_pod_whose_claim_is_not_there(kubectl: Kubectl) -> None:
    kubectl("apply -f -", SHARING.replace("NAME", "alone"))
    kubectl("wait --for=jsonpath='{.status.conditions[0].reason}'=Unschedulable pod/alone --timeout=60s")
    told = kubectl("get pod alone -o jsonpath={.status.conditions[0].message}").out
    assert f'could not find resource claim "{kubectl.namespace}/shared"' in told
    forced = SHARING.replace("NAME", "forced").replace("spec:\n", "spec:\n  nodeName: node-1\n")
    kubectl("apply -f -", forced)
    selector = "involvedObject.name=forced,reason=FailedPrepareDynamicResources"
    assert eventually(kubectl, f"get events --field-selector {selector} -o jsonpath={{.items[*].message}}") == (
        "Failed to prepare dynamic resources: prepare dynamic resources: fetch ResourceClaim shared: "
        'resourceclaims.resource.k8s.io "shared" not found'
    )
    assert kubectl("get pod forced").rows[0][2].strip() == "ContainerCreating"


FABRIC = """\
apiVersion: v1
kind: Node
metadata:
  name: fabric
  annotations:
    simulate.moorage.dev/devices: |
      - driver: fabric.example.com
        count: 2
        bindsToNode: true
        bindingConditions: [example.com/attached]
        bindingFailureConditions: [example.com/failed]
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: fabric}
spec:
  extendedResourceName: example.com/fabric
  selectors: [{cel: {expression: 'device.driver == "fabric.example.com"'}}]
"""
ATTACHED = """\
apiVersion: v1
kind: Pod
metadata: {name: attached}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: "c:1", resources: {limits: {example.com/fabric: 2}}}]
"""


def test_extended_resources_and_binding_conditions(kubectl: Kubectl) -> None:
    kubectl("apply -f -", FABRIC)
    kubectl("apply -f -", ATTACHED)
    kubectl("wait --for=condition=Ready pod/attached --timeout=60s")
    name = kubectl("get pod attached -o jsonpath={.status.extendedResourceClaimStatus.resourceClaimName}").out
    assert re.fullmatch(r"attached-extended-resources-\w{5}", name)
    kubectl(f"wait --for=jsonpath='{{.status.devices[1].conditions[1].type}}'=Ready resourceclaim/{name} --timeout=60s")
    devices = json.loads(kubectl(f"get resourceclaim {name} -o json").out)["status"]["devices"]
    told = {device["device"]: [one["type"] for one in device["conditions"]] for device in devices}
    assert told == {"fabric-0": ["example.com/attached", "Ready"], "fabric-1": ["example.com/attached", "Ready"]}
    kubectl("delete pod attached")
    kubectl(f"wait --for=delete resourceclaim/{name} --timeout=60s")
    kubectl("delete node fabric")
    kubectl("wait --for=delete resourceslice --field-selector spec.nodeName=fabric --timeout=60s")
