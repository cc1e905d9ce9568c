"""The sentence about a pod that waits: amounts, limits, pods, volumes and devices, each with what there is at best."""

from typing import Any

import pytest
from tests.unit.plan import device_worlds as devices
from tests.unit.plan.explain.sentence.test_waiting import (
    SPOT,
    TWO,
    ZONE,
    claim,
    labelled,
    near,
    requests,
    spread,
    taint,
    tolerates,
    with_claim,
)
from tests.unit.plan.explaining import assert_says_what_to_do, explained
from tests.unit.plan.planning import Raw, node, pod, running

from moorage.plan.explain.sentence.amounts import at_least, at_most

HOST = "kubernetes.io/hostname"
DRIVER = "ebs.csi.example.com"
ZONES = [labelled("a", {ZONE: "x"}), labelled("b", {ZONE: "y"})]


def terms(*expressions: tuple[str, str, list[str]]) -> Raw:
    written = [
        {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}
        for key, operator, values in expressions
    ]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": written}}}


def with_capacity(name: str, **capacity: str) -> Raw:
    made = node(name)
    made["status"]["capacity"] |= {key.replace("_", "-"): value for key, value in capacity.items()}
    return made


def on_host(name: str, **amounts: str) -> Raw:
    made = requests(**amounts)
    made["spec"]["nodeSelector"] = {HOST: name}
    return made


def storage_class(name: str, mode: str = "WaitForFirstConsumer") -> Raw:
    about = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": mode}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}, **about}


def volume(name: str, of: str, key: str = "", value: str = "", zone: str = "", mode: str = "ReadWriteOnce") -> Raw:
    spec: Raw = {
        "capacity": {"storage": "1Gi"},
        "accessModes": [mode],
        "storageClassName": "local",
        "csi": {"driver": DRIVER, "volumeHandle": name},
        "claimRef": {"name": of, "namespace": "default", "uid": f"uid-of-{of}"},
    }
    if key:
        expression = {"key": key, "operator": "In", "values": [value]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    about = {"name": name, "labels": {ZONE: zone} if zone else {}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": about, "spec": spec}


def bound(name: str, to: str, **spec: Any) -> Raw:
    made = claim(name, storageClassName="local", volumeName=to, **spec)
    done = {"pv.kubernetes.io/bind-completed": "yes"}
    made["metadata"] |= {"uid": f"uid-of-{name}", "annotations": done}
    return made | {"status": {"phase": "Bound"}}


def using(name: str, of: str) -> Raw:
    return running(name, "a", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": of}}])


def limit(name: str, count: int) -> Raw:
    drivers = [{"name": DRIVER, "nodeID": name, "allocatable": {"count": count}}]
    about = {"metadata": {"name": name}, "spec": {"drivers": drivers}}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", **about}


def wants(*requested: Raw, name: str = "c") -> list[Raw]:
    return [devices.claim("c", *requested), devices.with_claim("p", devices.of_claim(name))]


def keeping_away(*keys: str) -> Raw:
    found = [{"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": key} for key in keys]
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": found}}


ONCE = {"accessModes": ["ReadWriteOncePod"]}
LOCAL = storage_class("local")
SENTENCES: dict[str, tuple[list[Raw], str]] = {
    "memory in many digits": (
        [node("a"), requests(memory="9000000000")],
        "Needs 8.4Gi memory; the only node has 8Gi free",
    ),
    "ephemeral storage": (
        [with_capacity("a", ephemeral_storage="10Gi"), requests(**{"ephemeral-storage": "20Gi"})],
        "Needs 20Gi ephemeral-storage; the only node has 10Gi free",
    ),
    "pods": (
        [with_capacity("a", pods="1"), running("x", "a"), pod("p")],
        "The only node runs as many pods as it may (1)",
    ),
    "pods, other limits": (
        [with_capacity("a", pods="1"), with_capacity("b", pods="0"), running("x", "a"), pod("p")],
        "Every node runs as many pods as it may (at most 1)",
    ),
    "threshold from below": (
        [*SPOT, pod("p", tolerations=tolerates("Gt", "50"))],
        "Tolerates failures > 50; the highest on a node is 20",
    ),
    "old version of a taint": (
        [
            node("a", taints=[taint("example.com/kubelet-version", "v1.35.0")]),
            node("b", taints=[taint("example.com/kubelet-version", "v1.34.2")]),
            pod("p", tolerations=tolerates("SemverLt", "1.30.0", "example.com/kubelet-version")),
        ],
        "Tolerates kubelet < 1.30.0; the oldest on a node is 1.34.2",
    ),
    "terms": (
        [*ZONES, pod("p", affinity=terms((ZONE, "In", ["z"]), ("cores", "Gt", ["4"]), ("gpu", "Exists", [])))],
        "Needs zone=z, cores > 4 or the label gpu; no node has one of these",
    ),
    "long terms": (
        [*ZONES, pod("p", affinity=terms(*(("k", "In", [letter * 40]) for letter in "abcd")))],
        "None of its 4 node affinity terms matches a node",
    ),
    "host name": ([*TWO, pod("p", nodeSelector={HOST: "c"})], "Needs hostname=c; no node has it"),
    "affinity on a node": (
        [*ZONES, pod("p", affinity=near("podAffinity", "db", HOST))],
        "Has to share its node with app=db; no node has such a pod",
    ),
    "anti-affinity in a zone": (
        [
            *ZONES,
            running("w1", "a", labels={"app": "web"}),
            running("w2", "b", labels={"app": "web"}),
            pod("p", affinity=near("podAntiAffinity", "web")),
        ],
        "Must not share its zone with app=web; there is such a pod in the zone of every node",
    ),
    "two terms of anti-affinity": (
        [node("a"), running("w", "a", labels={"app": "web"}), pod("p", affinity=keeping_away(HOST, ZONE))],
        "Must not share its node with app=web or its zone with app=web; the only node has one of these",
    ),
    "spread without the label": (
        [*TWO, pod("p", labels={"app": "web"}, topologySpreadConstraints=spread())],
        "Spreads over zone, a label that no node has",
    ),
    "spread over few domains": (
        [
            labelled("a", {ZONE: "x"}),
            running("web", "a", labels={"app": "web"}),
            pod("p", labels={"app": "web"}, topologySpreadConstraints=[spread()[0] | {"minDomains": 3}]),
        ],
        "On the only node it would break its spread over zone (maxSkew 1, would be 2, with 1 of 3 minDomains)",
    ),
    "volume of another zone": (
        [*ZONES, LOCAL, volume("vol", "data", zone="z"), bound("data", "vol"), with_claim("data")],
        "Its volume vol is in zone z; no node is",
    ),
    "volume of another node": (
        [*TWO, LOCAL, volume("vol", "data", HOST, "c"), bound("data", "vol"), with_claim("data")],
        "The volume of its claim data is only for hostname=c; no node is there",
    ),
    "several resources of the node that it asks for": (
        [*(node(name, "16") for name in "abc"), with_capacity("z", memory="4Gi"), on_host("z", cpu="9", memory="7Gi")],
        "Fits z but for cpu (needs 9, 4 free) and memory (needs 7Gi, 4Gi free); the other 3 do not match its "
        "node affinity/selector",
    ),
    "no volume": (
        [*TWO, LOCAL, claim("data", storageClassName="local"), with_claim("data")],
        "Its claim data (1Gi, class local) finds no volume on any node",
    ),
    "no storage class": (
        [*TWO, claim("data", storageClassName="fast"), with_claim("data")],
        "Its claim data is not bound to a volume yet: there is no StorageClass fast",
    ),
    "volume that is gone": (
        [*TWO, LOCAL, bound("data", "gone"), with_claim("data")],
        "Its claim data is bound to a volume that is gone",
    ),
    "claim of one pod": (
        [
            *TWO,
            LOCAL,
            volume("vol", "data", mode="ReadWriteOncePod"),
            bound("data", "vol", **ONCE),
            using("other", "data"),
            with_claim("data"),
        ],
        "Its claim data is ReadWriteOncePod, and another pod uses it",
    ),
    "limit of volumes": (
        [
            node("a"),
            limit("a", 1),
            LOCAL,
            *(volume(f"v{number}", f"d{number}") for number in range(2)),
            *(bound(f"d{number}", f"v{number}") for number in range(2)),
            using("other", "d0"),
            with_claim("d1"),
        ],
        f"The only node has as many volumes of {DRIVER} attached as it may (1)",
    ),
    "too few devices": (
        [*devices.with_gpus("n1", devices.gpu("g0")), devices.device_class(), *wants(devices.request(count=2))],
        "Needs 2 devices of class gpu; the only node has 1 that it can use",
    ),
    "two requests for devices": (
        [
            *devices.with_gpus("n1", devices.gpu("g0")),
            devices.device_class(),
            *wants(devices.request(), devices.request("second")),
        ],
        "Needs 2 devices of class gpu; no node can give it all of them",
    ),
    "all devices": (
        [
            *devices.with_gpus("n1", devices.gpu("g0", "8")),
            devices.device_class(),
            *wants(devices.request(allocationMode="All")),
        ],
        "Needs all devices of class gpu; no node can give it all of them",
    ),
    "no device class": (
        [*devices.with_gpus("n1", devices.gpu("g0")), *wants(devices.request())],
        "Needs a device of class gpu; there is no such DeviceClass",
    ),
    "no claim for devices": ([node("a"), *wants(name="other")], "Its ResourceClaim other does not exist"),
    "no template of claims": (
        [node("a"), devices.with_claim("p", devices.of_template("t"))],
        "Its ResourceClaim of template t is not created yet",
    ),
}


@pytest.mark.parametrize("family", SENTENCES)
def test_every_family_has_its_sentence(family: str) -> None:
    documents, sentence = SENTENCES[family]
    told = explained(*documents)
    assert told.sentence == sentence
    assert_says_what_to_do(told)


@pytest.mark.parametrize(
    ("value", "down", "up"),
    [
        (3_388_608 << 10, "3.2Gi", "3.3Gi"),
        (9_999 << 20, "9999Mi", "9999Mi"),
        (10_001 << 20, "9.7Gi", "9.8Gi"),
        (10_240, "10Ki", "10Ki"),
        (10_241, "10Ki", "10.1Ki"),
        ((4 << 40) + 1, "4Ti", "4.1Ti"),
        (500, "500", "500"),
    ],
)
def test_what_is_free_is_rounded_down_and_what_is_needed_up(value: int, down: str, up: str) -> None:
    assert (at_most("memory", value), at_least("memory", value)) == (down, up)


def test_numbers_of_other_resources_are_not_rounded() -> None:
    assert at_most("example.com/token", 1_048_576) == "1048576"
    assert at_least("cpu", 12_345_678) == "12345678m"
