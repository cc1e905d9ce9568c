"""Devices, claims and classes as kubectl shows them."""

import json
import re

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


def test_slices_of_simulated_drivers(kubectl: Kubectl) -> None:
    kubectl("wait --for=create resourceslice --all --timeout=60s")
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
    kubectl(f"wait --for=create {selected} --timeout=60s")
    assert kubectl(f"get {selected} -o jsonpath={{.items[0].spec.devices[0].name}}").out == "nic-0"
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
