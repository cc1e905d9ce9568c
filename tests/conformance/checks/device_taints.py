"""tolerate_device_taint.json and device_taint_eviction.json: taints of devices, and the pods that they evict."""

from typing import Any

from moorage.match.devices.eviction import DeviceEviction, PublishedDevices, claim_eviction, pod_eviction
from moorage.match.devices.tolerations import compile_device_tolerations
from moorage.model.gates import default_gates
from moorage.model.go.times import seconds_of, time_text
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import DeviceTaint, DeviceTaintRule, DeviceToleration, ResourceClaim, ResourceSlice
from moorage.model.types.pod import Pod

_GATES = default_gates()


def check_tolerate_device_taint(case: dict[str, Any]) -> str | None:
    given, want = case["in"], case["out"]["tolerates"]
    toleration = convert_view(given["toleration"], DeviceToleration)
    got = compile_device_tolerations([toleration], _GATES).tolerates(convert_view(given["taint"], DeviceTaint))
    return None if got == want else f"{given}: {got}, want {want}"


def check_device_taint_eviction(case: dict[str, Any]) -> str | None:
    given, want = case["in"], case["out"]
    devices = PublishedDevices(convert_view(one, ResourceSlice) for one in given["resourceSlices"])
    rules = [convert_view(rule, DeviceTaintRule) for rule in given["deviceTaintRules"]]
    read = [convert_view(claim, ResourceClaim) for claim in given["resourceClaims"]]
    claims = {(claim.metadata.namespace, claim.metadata.name): claim for claim in read}

    def eviction_of(claim: ResourceClaim) -> DeviceEviction | None:
        return claim_eviction(claim, devices, rules, lambda some: compile_device_tolerations(some, _GATES))

    now = seconds_of(given["now"])
    assert now is not None
    got = []
    for raw in given["pods"]:
        pod = convert_view(raw, Pod)
        eviction = pod_eviction(pod, lambda namespace, name: claims.get((namespace, name)), eviction_of)
        about: dict[str, Any] = {"namespace": pod.metadata.namespace, "name": pod.metadata.name}
        about["evict"] = eviction is not None
        if eviction is not None:
            about["at"], about["reason"] = time_text(eviction.when), eviction.reason
            about["afterSeconds"] = max(0, eviction.when - now)
        got.append(about)
    got.sort(key=lambda about: (about["namespace"], about["name"]))
    return None if got == want["pods"] else f"got {got}, want {want['pods']}"
