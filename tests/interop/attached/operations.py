"""What `attach status` and `attach uninstall` say of a cluster with attach, whose pods are lowered."""

import json
import subprocess
import sys
from typing import Any

from tests.e2e.component_processes import until
from tests.interop.attached.stories import hard, leaving, tainted
from tests.interop.attached.unaware_cluster import NODES, Tenant, pod

Raw = dict[str, Any]
#: Deployments of the installation are not there: webhook and controller are processes of the test.
_NOT_THERE = ("webhook", "controller", "objects")


def status_and_uninstall_say_what_is_lowered(tenant: Tenant) -> None:
    """Every piece that is there is right; what is lowered is named with what it relies on and could become."""
    tenant.cluster.set_taints(tainted("spot", "NoSchedule", "960", "940"))
    tenant.create(pod(hard("Gt", "950", "spot"), name="number"), pod(leaving("CEL", "true"), name="expression"))
    sections = until(lambda: _all_right(tenant)) or {}
    mine = {each["name"]: each for each in sections["lowered"]["objects"] if each["namespace"] == tenant.namespace}
    assert {name: each["reliesOn"] for name, each in mine.items()} == {
        "number": ["mirror"],
        "expression": ["match labels", "eviction"],
    }
    assert mine["number"]["compares"] == ["spot > 950 (NoSchedule)"]
    rows = {row["name"]: (row["missing"], row["forged"]) for row in sections["nodes"]["nodes"]}
    assert {name: rows[name] for name in NODES} == dict.fromkeys(NODES, ([], []))
    back = _asked(tenant, "uninstall")
    assert back["stage"] == 1
    assert not any("mirror" in command for command in back["commands"])
    became = {each["name"]: each["becoming"] for each in back["lowered"] if each["namespace"] == tenant.namespace}
    assert [each["value"] for each in became["number"][0]["equal"]] == ["960"]


def _all_right(tenant: Tenant) -> Raw | None:
    """Return what was checked, by its name, once nothing is wrong; labels of nodes may take a moment."""
    sections = {each["name"]: each for each in _asked(tenant, "status")["sections"]}
    is_wrong = any(each["level"] == "wrong" for name, each in sections.items() if name not in _NOT_THERE)
    return None if is_wrong else sections


def _asked(tenant: Tenant, command: str) -> Raw:
    arguments = [sys.executable, "-m", "moorage", "attach", command, "-o", "json"]
    kubeconfig = ("--kubeconfig", str(tenant.cluster.kubeconfig))
    ran = subprocess.run([*arguments, *kubeconfig], capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    told: Raw = json.loads(ran.stdout)
    return told
