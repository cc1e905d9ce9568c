"""What plan, explain and gates say of a cluster with attach: in the words of its users, and as the cluster acts."""

import json
import shlex
from typing import Any

from tests.interop.attached.stories import SLA, hard, leaving, tainted
from tests.interop.attached.unaware_cluster import NODES, Tenant, moorage, pod, taint

Raw = dict[str, Any]
_MARK = "attach.moorage.dev/original"


def answers_are_in_the_words_of_the_user(tenant: Tenant) -> None:
    """The threshold is named; what is offered is what the user writes, and helps when it is sent to the cluster."""
    tenant.cluster.set_taints(tainted(SLA, "NoSchedule", "800", "900", "940"))
    template = {"metadata": {"labels": {"app": "train"}}, "spec": pod(hard("Gt", "950"))["spec"]}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "train"}}, "template": template}
    tenant.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "train"}, "spec": spec})
    assert list(tenant.placements().values()) == [""]
    told = explained(tenant, "deployment/train")
    assert "> 950" in told["sentence"]
    assert "940 > 950 is false" in json.dumps(told)
    for word in ("num.noschedule", "match.moorage.dev"):
        assert word not in json.dumps([told["sentence"], told["refused"]]), word
    offered = next(each for each in told["suggestions"] if each["summary"].endswith("Gt 950 → Gt 939"))
    assert "operator: Gt" in offered["yaml"]
    assert _MARK not in json.dumps(told)
    command = shlex.split(offered["remedy"]["command"])
    tenant.run(shlex.join(command[1:]))
    tenant.nodes_of("app=train", 1)
    assert set(tenant.placements().values()) <= {NODES[2], ""}


def a_what_if_is_what_happens(tenant: Tenant) -> None:
    """The pods that a plan says a new value evicts are those that the controller evicts."""
    tenant.cluster.set_taints(tainted(SLA, "NoExecute", "960"))
    tenant.create(pod(leaving("Gt", "950"), name="strict"), pod(leaving("Gt", "900"), name="calm"))
    tenant.become_placed({"strict": NODES[0], "calm": NODES[0]})
    printed = moorage(
        "plan", "--kubeconfig", str(tenant.cluster.kubeconfig), f"--taint={NODES[0]}={SLA}=940:NoExecute", "-o", "json"
    )
    evicted = {each["pod"]: each["because"] for each in json.loads(printed)["whatIf"]["evicted"]}
    mine = {name: text for name, text in evicted.items() if name.startswith(f"{tenant.namespace}/")}
    assert list(mine) == [f"{tenant.namespace}/strict"]
    assert mine[f"{tenant.namespace}/strict"].startswith("940 > 950 is false")
    tenant.cluster.taint(NODES[0], taint(SLA, "940", "NoExecute"))
    tenant.become_placed({"calm": NODES[0]})
    assert tenant.run("wait --for=delete pod/strict --timeout=60s").status == 0


def gates_say_what_is_attached(tenant: Tenant) -> None:
    printed = moorage("gates", "--kubeconfig", str(tenant.cluster.kubeconfig), "-o", "json")
    standing = {row["kep"]: row["standing"] for row in json.loads(printed)["keps"]}
    assert standing == {"KEP-5471": "attached", "KEP-5721": "attached", "KEP-5500": "attached"}


def explained(tenant: Tenant, name: str) -> Raw:
    arguments = ("explain", name, "-n", tenant.namespace, "--kubeconfig", str(tenant.cluster.kubeconfig), "-o", "json")
    told: Raw = json.loads(moorage(*arguments))
    return told
