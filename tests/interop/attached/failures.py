"""What fails beside a cluster with attach, and what must hold meanwhile and afterwards.

Each function does what its name says as a tenant, and fails where something else comes of it. The installation is whole
again when it ends.
"""

import base64
import datetime
import json
import time
from copy import deepcopy
from typing import Any

from tests.e2e.component_processes import until
from tests.interop.attached.everyday_use import manifest
from tests.interop.attached.installation import QUICK, Installation
from tests.interop.attached.stories import CNI, SLA, hard, leaving, tainted
from tests.interop.attached.unaware_cluster import NODES, Tenant, pod, taint

from moorage.attach import formats
from moorage.attached import names
from moorage.attached.certificates.pairs import make_pair
from moorage.attached.certificates.rotation import DISTRIBUTION
from moorage.attached.certificates.secret import KNOWN_SINCE
from moorage.model.go.times import time_text
from moorage.serve.pki.certificates import Authority

Raw = dict[str, Any]
_NATIVE = 'operator: Unsupported value: "{0}": supported values: "Equal", "Exists"'
_TOLERATIONS = "{.spec.template.spec.tolerations[*].operator}"
_VERSIONS = pod(hard("SemverGt", "3.27.0", CNI))


def the_webhook_is_down(tenant: Tenant, installation: Installation) -> None:
    """The API server refuses the operators in its own words; what is lowered goes on; what was missed is repaired."""
    cluster = tenant.cluster
    cluster.set_taints(tainted(CNI, "NoSchedule", "v3.26.0", "v3.28.0", "v3.29.0"))
    web = manifest("Deployment", "web", _VERSIONS, replicas=2)
    tenant.create(web, manifest("Deployment", "changed", _VERSIONS, replicas=1))
    for name in ("web", "changed"):
        tenant.rolled_out(f"deployment/{name}")
    installation.stop_webhook()
    try:
        for operator, value in (("SemverGt", "1.2.3"), ("CEL", "true")):
            assert _NATIVE.format(operator) in until(lambda: installation.refusal(operator, value))  # noqa: B023
        tenant.create(pod(name="ordinary"), manifest("Deployment", "plain", pod(), replicas=1))
        tenant("scale deployment web --replicas=4")
        tenant("rollout restart deployment web")
        tenant.rolled_out("deployment/web")
        tenant("set image deployment/web c=i:2")
        tenant.rolled_out("deployment/web")
        assert {node for name, node in tenant.placements().items() if name.startswith("web-")} <= {*NODES[1:3]}
        assert _NATIVE.format("SemverGt") in tenant.fails("apply --server-side=false -f -", json.dumps(web))
        # Without the webhook the affinity of a toleration that goes stays behind, until the controller repairs it.
        tenant("apply --server-side --force-conflicts -f -", json.dumps(_plainly("changed")))
        until(lambda: "nodeAffinity" not in json.dumps(tenant.get("deployment changed")["spec"]["template"]))
        told = tenant.told("changed", "LoweringRepaired")
        assert told.endswith("; it would have placed pods wrongly")
    finally:
        installation.start_webhook()
        until(installation.lowers)
    tenant("apply -f -", json.dumps(web))
    tenant.rolled_out("deployment/web")


def _plainly(name: str) -> Raw:
    plain = pod({"key": CNI, "operator": "Equal", "value": "v3.26.0", "effect": "NoSchedule"})
    return manifest("Deployment", name, plain, replicas=1)


def the_controller_is_down(tenant: Tenant, installation: Installation) -> None:
    """Placement of what affinity expresses goes on; expressions wait, and who has to leave stays until it is back."""
    cluster = tenant.cluster
    cluster.set_taints(tainted(SLA, "NoExecute", "990"))
    tenant.create(pod(leaving("Gt", "950"), name="leaves"), pod(leaving("Gt", "900"), name="stays"))
    assert set(tenant.placements().values()) == {NODES[0]}
    installation.stop_controllers()
    try:
        cluster.taint(NODES[0], taint(SLA, "940", "NoExecute"))
        tenant.create(
            pod(leaving("Gt", "930"), name="placed"),
            pod(leaving("Gt", "950"), name="kept-away"),
            pod(leaving("CEL", "int(taint.value) < 941"), name="asks"),
        )
        placed = tenant.placements()
        assert placed == {"leaves": NODES[0], "stays": NODES[0], "placed": NODES[0], "kept-away": "", "asks": ""}
        # The seconds are in what it was lowered to: the cluster's own controller counts them.
        tenant.create(pod(leaving("Gt", "930", seconds=1), name="in-time"))
        until(lambda: "in-time" not in tenant.names("pods"))
        assert "leaves" in tenant.names("pods")
    finally:
        installation.start_controller()
    until(lambda: tenant.names("pods") == ["asks", "kept-away", "placed", "stays"])
    until(lambda: tenant.placements()["asks"] == NODES[0])


def a_budget_forbids_to_leave(tenant: Tenant, installation: Installation) -> None:
    """With --evict-by eviction the budget is named in an event, and asked again until it allows it."""
    cluster = tenant.cluster
    cluster.set_taints(tainted(SLA, "NoExecute", "990"))
    installation.stop_controllers()
    installation.start_controller("--evict-by", "eviction")
    try:
        leaves = pod(leaving("Gt", "950"), name="leaves")
        leaves["metadata"]["labels"] = {"app": "kept"}
        tenant.create(leaves)
        tenant.wait("condition=Ready", "pod/leaves")
        tenant("create poddisruptionbudget keep --selector=app=kept --min-available=1")
        until(lambda: tenant.get("poddisruptionbudget keep").get("status", {}).get("currentHealthy") == 1)
        cluster.taint(NODES[0], taint(SLA, "940", "NoExecute"))
        assert "The disruption budget keep needs 1 healthy pods" in tenant.told("leaves", "EvictionBlocked")
        assert tenant.names("pods") == ["leaves"]
        tenant("delete poddisruptionbudget keep")
        until(lambda: tenant.names("pods") == [])
        assert "940 > 950 is false" in tenant.told("leaves", "TaintManagerEviction")
    finally:
        installation.stop_controllers()
        installation.start_controller()


def a_leader_is_killed(tenant: Tenant, installation: Installation) -> None:
    """Another replica takes the Lease and does what is due, once."""
    cluster = tenant.cluster
    cluster.set_taints(tainted(SLA, "NoExecute", "990"))
    tenant.create(*(pod(leaving("Gt", str(least)), name=f"above-{least}") for least in (900, 950, 960, 970)))
    assert set(tenant.placements().values()) == {NODES[0]}
    installation.stop_controllers()
    leads = installation.start_controller(*QUICK)
    first = until(installation.leader)
    installation.start_controller(*QUICK)
    installation.kill_controller(leads)
    try:
        cluster.taint(NODES[0], taint(SLA, "955", "NoExecute"))
        until(lambda: tenant.names("pods") == ["above-900", "above-950"])
        assert installation.leader() != first
    finally:
        installation.stop_controllers()
        installation.start_controller()
    for name in ("above-960", "above-970"):
        tenant.told(name, "TaintManagerEviction")
    events = tenant.items("events --field-selector=reason=TaintManagerEviction")
    assert sorted(each["involvedObject"]["name"] for each in events) == ["above-960", "above-970"]


def the_mirror_is_removed(tenant: Tenant, installation: Installation) -> None:
    """The controller writes what nobody else does, later, and says so; this is why the mirror is removed last."""
    cluster = tenant.cluster
    policy = "mutatingadmissionpolicybinding mirror.attach.moorage.dev"
    kept = json.loads(cluster.admin(f"get {policy} -o json").out)
    cluster.admin(f"delete {policy}")
    try:
        until(lambda: not cluster.mirrors(taint("probe", "1")))
        cluster.taint(NODES[0], taint("spot", "10"))
        until(lambda: cluster.is_mirrored(NODES[0]))
        events = f"events --field-selector=involvedObject.name={NODES[0]},reason=MirrorRepaired"
        message = until(lambda: cluster.admin.items(events))[-1]["message"]
        assert "is the policy mirror.attach.moorage.dev there?" in message
    finally:
        for field in ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields"):
            kept["metadata"].pop(field, None)
        cluster.admin("create -f -", json.dumps(kept))
        until(lambda: cluster.mirrors(taint("probe", "1")))


def the_certificate_expires(tenant: Tenant, installation: Installation) -> None:
    """While nobody replaces it only the operators are refused; the controller makes another one as soon as it looks."""
    installation.stop_controllers()
    expired = Authority.create(datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=4000))
    service = f"{names.WEBHOOK}.{names.NAMESPACE}.svc"
    issued = expired.issue_server([service])
    files = {"tls.crt": issued.certificate, "tls.key": issued.key, "ca.crt": expired.issued.certificate}
    data = {name: base64.b64encode(content).decode() for name, content in files.items()}
    installation.change_secret({"data": data})
    installation.restart_webhook()
    try:
        assert _NATIVE.format("SemverGt") in until(installation.refusal)
        tenant.create(pod(name="ordinary"))
    finally:
        installation.start_controller()
        until(lambda: installation.secret_data("tls.crt") != data["tls.crt"])
        installation.restart_webhook()
        until(installation.lowers)


def the_certificate_is_rotated(tenant: Tenant, installation: Installation) -> None:
    """The next authority is trusted before the next certificate is served; no request is refused in between."""
    pair = make_pair(names.NAMESPACE, time.time())
    both = base64.b64decode(installation.secret_data("ca.crt")) + pair.authority
    coming = {"next.crt": pair.certificate, "next.key": pair.key, "ca.crt": both}
    installation.stop_controllers()
    installation.change_secret({"data": {name: base64.b64encode(each).decode() for name, each in coming.items()}})
    installation.start_controller()
    until(lambda: installation.ca_bundle() == both)
    assert installation.lowers()
    installation.stop_controllers()
    installation.change_secret({"metadata": {"annotations": {KNOWN_SINCE: time_text(time.time() - DISTRIBUTION)}}})
    installation.start_controller()
    until(lambda: base64.b64decode(installation.secret_data("tls.crt")) == pair.certificate)
    assert installation.lowers()
    installation.mount()
    begun = installation.certificates_used()
    until(lambda: _lowers_always(installation) and installation.certificates_used() > begun)
    assert all(installation.lowers() for _ in range(5))


def _lowers_always(installation: Installation) -> bool:
    assert installation.lowers()
    return True


def the_api_server_starts_again(tenant: Tenant, installation: Installation) -> None:
    """Its first writes are mirrored and lowered, and the controller goes on."""
    cluster = tenant.cluster
    cluster.set_taints(tainted(SLA, "NoExecute", "990"))
    tenant.create(pod(leaving("Gt", "950"), name="leaves"), pod(leaving("CEL", "taint.value == '990'"), name="asks"))
    until(lambda: set(tenant.placements().values()) == {NODES[0]})
    cluster.restart()
    cluster.taint(NODES[0], taint(SLA, "940", "NoExecute"))
    assert cluster.is_mirrored(NODES[0])
    tenant.create(pod(leaving("SemverGt", "1.0.0", CNI), name="lowered"))
    assert formats.MARKER_KEY in str(tenant.get("pod lowered")["spec"]["tolerations"])
    until(lambda: tenant.names("pods") == ["lowered"])


def the_webhook_is_replaced_while_it_is_used(tenant: Tenant, installation: Installation) -> None:
    """Old and new serve side by side; no request is refused, and nothing that is lowered changes."""
    web = manifest("Deployment", "web", _VERSIONS, replicas=1)
    tenant("apply -f -", json.dumps(web))
    before = tenant.get("deployment web")["metadata"]["generation"]
    for _ in range(2):
        replaced = installation.add_webhook()
        assert all(installation.lowers() for _ in range(5))
        replaced()
        assert all(installation.lowers() for _ in range(5))
        tenant("apply -f -", json.dumps(web))
    assert tenant.get("deployment web")["metadata"]["generation"] == before


def hostile_labels_and_annotations_are_not_trusted(tenant: Tenant, installation: Installation) -> None:
    """A forged match label goes, with an event; forged annotations move no other pod than their own."""
    cluster = tenant.cluster
    cluster.set_taints(tainted(SLA, "NoExecute", "990"))
    forged = "match.moorage.dev/" + "0" * 20
    cluster.admin(f"label node {NODES[0]} {forged}=true {formats.MIRRORED}- num.noexecute.taint.moorage.dev/x=5")
    until(lambda: forged not in cluster.mirror(NODES[0]))
    events = f"events --field-selector=involvedObject.name={NODES[0]},reason=MatchLabelForged"
    assert forged in until(lambda: cluster.admin.items(events))[-1]["message"]
    assert cluster.is_mirrored(NODES[0])
    everything = {"operator": "Exists"}
    annotated = {formats.TOLERATIONS: json.dumps([{"key": SLA, "operator": "Gt", "value": "1"}])}
    claims = pod({"key": SLA, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}, name="claims")
    claims["metadata"]["annotations"] = annotated
    nonsense = deepcopy(claims)
    nonsense["metadata"] = {"name": "nonsense", "annotations": {formats.TOLERATIONS: "{" * 500}}
    tenant.create(claims, nonsense, pod(everything, name="plain"), pod(leaving("Gt", "950"), name="honest"))
    for name in ("claims", "nonsense"):
        tenant.told(name, "TaintManagerEviction")
    until(lambda: tenant.names("pods") == ["honest", "plain"])
    tenant(f"annotate pod plain {formats.TOLERATIONS}='{annotated[formats.TOLERATIONS]}'")
    until(lambda: formats.TOLERATIONS not in tenant.get("pod plain")["metadata"].get("annotations", {}))
    assert "its tolerations are not lowered" in tenant.told("plain", "LoweringRepaired")
    cluster.taint(NODES[0], taint(SLA, "940", "NoExecute"))
    until(lambda: tenant.names("pods") == ["plain"])
