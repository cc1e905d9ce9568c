"""What users do with workloads that compare: apply them again, scale, roll and undo, preempt, run daemons.

Each function does what its name says as a tenant of a cluster with attach, and fails where something else comes of it.
"""

import json
from collections import Counter
from copy import deepcopy
from typing import Any

from tests.e2e.component_processes import until
from tests.interop.attached.installation import Installation
from tests.interop.attached.unaware_cluster import Tenant, listed, pod, taint
from tests.unit.attach.workloads import KINDS, complete, toleration, workload

Raw = dict[str, Any]
#: Two nodes with more than 950, two with less, and two on which nothing has to tolerate anything.
SPOT = {
    "node-1": [taint("spot", "900")],
    "node-2": [taint("spot", "900")],
    "node-3": [taint("spot", "960")],
    "node-4": [taint("spot", "960")],
    "node-5": [taint("other")],
    "node-6": [taint("other")],
}
ACCEPTED = {"node-3", "node-4"}
DEMANDING = pod(toleration("Gt", "950", effect="NoSchedule"))
_APPLIES = {"client": "--server-side=false", "server": "--server-side"}
_PLURALS = "pods,podtemplates,rc,deployments,rs,statefulsets,daemonsets,jobs,cronjobs"
_IMAGE = "{.spec.template.spec.containers[0].image}"


def manifest(kind: str, name: str, document: Raw, **spec: Any) -> Raw:
    """Return an object of a kind with this pod, which the API server accepts."""
    made = deepcopy(workload(kind, document))
    made["metadata"] = {"name": name}
    complete(made)
    made.get("spec", {}).update(spec)
    return made


def all_kinds_are_applied_again_without_a_change(tenant: Tenant, document: Raw = DEMANDING) -> None:
    """Client-side and server-side: diff and the second apply find nothing to do, and nothing is rolled out."""
    for name, option in _APPLIES.items():
        written = listed([manifest(kind, name, document) for kind in KINDS])
        tenant(f"apply {option} -f -", written)
        tenant.rolled_out(f"deployment/{name}")
        tenant.rolled_out(f"statefulset/{name}")
        tenant.rolled_out(f"daemonset/{name}")
        before, revisions = _specs(tenant, name), _revisions(tenant)
        tenant(f"diff {option} -f -", written)
        tenant(f"apply {option} -f -", written)
        assert (_specs(tenant, name), _revisions(tenant)) == (before, revisions)
        assert (
            revisions[f"Deployment/{name}"] == revisions[f"DaemonSet/{name}"] == revisions[f"StatefulSet/{name}"] == 1
        )
        tenant(f"delete {_PLURALS} {name} --ignore-not-found --wait=false")


def _specs(tenant: Tenant, name: str) -> dict[str, Any]:
    """Return generation and content of the objects with a name."""
    named = [each for each in tenant.items(_PLURALS) if each["metadata"]["name"] == name]
    assert sorted(each["kind"] for each in named) == sorted(KINDS)
    return {
        each["kind"]: (each["metadata"].get("generation"), each.get("spec"), each.get("template")) for each in named
    }


def _revisions(tenant: Tenant) -> Counter[str]:
    """Count the ReplicaSets and ControllerRevisions of each owner."""
    owned = [
        owner
        for each in tenant.items("rs,controllerrevisions")
        for owner in each["metadata"].get("ownerReferences", ())
    ]
    return Counter(f"{owner['kind']}/{owner['name']}" for owner in owned)


def deployments_scale_roll_and_are_undone(tenant: Tenant, document: Raw = DEMANDING) -> None:
    tenant("apply -f -", json.dumps(manifest("Deployment", "web", document, replicas=3)))
    tenant.rolled_out("deployment/web")
    tenant("scale deployment web --replicas=6")
    tenant.rolled_out("deployment/web")
    tenant("set image deployment/web c=i:2")
    tenant.rolled_out("deployment/web")
    tenant("rollout undo deployment/web")
    tenant.rolled_out("deployment/web")
    assert set(tenant.nodes_of("app=w", 6)) == ACCEPTED
    assert _revisions(tenant) == {"Deployment/web": 2}
    assert tenant(f"get deployment web -o jsonpath='{_IMAGE}'").out == "i:1"
    tenant("delete deployment web")


def daemons_run_on_the_nodes_that_are_accepted(tenant: Tenant, document: Raw = DEMANDING) -> None:
    """They follow a value that changes: affinity is asked again where a toleration is not."""
    tenant("apply -f -", json.dumps(manifest("DaemonSet", "agent", document)))
    assert tenant.nodes_of("app=w", 2) == sorted(ACCEPTED)
    tenant.cluster.taint("node-4", taint("spot", "940"))
    tenant.cluster.taint("node-1", taint("spot", "970"))
    until(lambda: tenant.nodes_of("app=w", 2) == ["node-1", "node-3"])
    tenant("delete daemonset agent")


def urgent_pods_preempt_where_their_value_is_accepted(tenant: Tenant, document: Raw = DEMANDING) -> None:
    """All tainted nodes are full; victims are found on a node that the urgent pod accepts, and nowhere else."""
    tolerant = pod(toleration("Exists", effect="NoSchedule"), **_needing("3"))
    tenant("apply -f -", json.dumps(manifest("Deployment", "filler", tolerant, replicas=8)))
    filled = tenant.nodes_of("app=w", 8)
    assert Counter(filled) == {"node-1": 2, "node-2": 2, "node-3": 2, "node-4": 2}
    before = {each["metadata"]["uid"]: each["spec"]["nodeName"] for each in tenant.items("pods")}
    urgent = deepcopy(document)
    urgent["metadata"] = {"name": "urgent"}
    urgent["spec"] |= {**_needing("6"), "priorityClassName": "system-node-critical"}
    tenant.create(urgent)
    tenant.wait("condition=Ready", "pod/urgent")
    assert tenant.placements()["urgent"] in ACCEPTED
    after = {each["metadata"]["uid"] for each in tenant.items("pods")}
    victims = [node for uid, node in before.items() if uid not in after]
    assert len(victims) == 2
    assert set(victims) == {tenant.placements()["urgent"]}


def _needing(cpu: str) -> Raw:
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": cpu}}}
    return {"containers": [container]}


# -- which of that is sent to the webhook ------------------------------------------------------------------------------


def ordinary_objects_cause_no_call(tenant: Tenant, installation: Installation) -> None:
    """Nine kinds are created, applied again, scaled and rolled."""
    before = installation.reviews()
    ordinary = listed([manifest(kind, "ordinary", pod()) for kind in KINDS])
    tenant("apply -f -", ordinary)
    tenant("apply -f -", ordinary)
    tenant.rolled_out("deployment/ordinary")
    tenant("scale deployment ordinary --replicas=3")
    tenant("set image deployment/ordinary c=i:2")
    tenant.rolled_out("deployment/ordinary")
    tenant("label pod ordinary some=label")
    assert installation.reviews() == before


def a_lowered_deployment_is_sent_when_its_template_changes(tenant: Tenant, installation: Installation) -> None:
    """Its ReplicaSets and pods are not, nor is it when it is scaled."""
    tenant.cluster.set_taints(SPOT)
    before = installation.reviews()
    web = json.dumps(manifest("Deployment", "web", DEMANDING, replicas=3))
    tenant("create -f -", web)
    tenant.rolled_out("deployment/web")
    assert installation.reviews() == before + 1
    tenant("scale deployment web --replicas=5")
    tenant("annotate deployment web some=annotation")
    tenant.rolled_out("deployment/web")
    assert installation.reviews() == before + 1
    tenant("set image deployment/web c=i:2")
    tenant.rolled_out("deployment/web")
    tenant("scale deployment web --replicas=2")
    tenant.rolled_out("deployment/web")
    assert installation.reviews() == before + 2
