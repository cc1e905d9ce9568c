"""What the run sends: Deployments whose pods tolerate a node's SLA down to a threshold, and the taints that say it.

In: names and sizes. Out: raw documents and merge patches. The threshold is that of the documents' story about spot
nodes: a change of one taint's value makes exactly the pods leave that asked for more.
"""

from __future__ import annotations

from typing import Any

Raw = dict[str, Any]

NAMESPACE = "default"
#: The label by which pods tell whose they are.
APP = "app"
SLA = "example.com/sla"
WANTED_SLA, GOOD_SLA, BAD_SLA = 900, 950, 850
GATES = "--feature-gates=TaintTolerationComparisonOperators=true"


def deployment(name: str, replicas: int) -> Raw:
    toleration = {"key": SLA, "operator": "Gt", "value": str(WANTED_SLA), "effect": "NoExecute"}
    container = {"name": "main", "image": "web:1", "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {APP: name}},
            "template": {
                "metadata": {"labels": {APP: name}},
                "spec": {"tolerations": [toleration], "containers": [container]},
            },
        },
    }


def new_template() -> Raw:
    """A change that rolls a Deployment."""
    return {"spec": {"template": {"metadata": {"annotations": {"example.com/version": "2"}}}}}


def sla_of(value: int) -> Raw:
    """A node's SLA, as a taint that makes pods leave that want a better one."""
    return {"spec": {"taints": [{"key": SLA, "value": str(value), "effect": "NoExecute"}]}}
