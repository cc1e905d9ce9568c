"""Discovery lists what a Kubernetes v1.36.4 API server with default settings lists, in its order.

`published_resources.txt` has a line for each resource of a live one: group and version, names, kind, scope, verbs,
short names, categories, subresources with kind and verbs.
"""

from pathlib import Path
from typing import Any

from moorage.model.gates import default_gates
from moorage.serve.resources.discovery import render_aggregated
from moorage.serve.resources.served import Resources

PUBLISHED = Path(__file__).with_name("published_resources.txt").read_text(encoding="utf-8").splitlines()
#: Versions that Kubernetes serves only where they are asked for.
OLDER = ("resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2")


def line_of(group_version: str, resource: dict[str, Any]) -> str:
    below = [
        f"{sub['subresource']}={sub['responseKind']['kind']}:{','.join(sub['verbs'])}"
        for sub in resource.get("subresources", ())
    ]
    names = [resource["resource"], resource["singularResource"], resource["responseKind"]["kind"], resource["scope"]]
    lists = [",".join(resource.get(name, ())) or "-" for name in ("verbs", "shortNames", "categories")]
    return " ".join([group_version, *names, *lists, *below])


def test_discovery_is_that_of_kubernetes() -> None:
    served = Resources(default_gates())
    ours = []
    for is_core in (True, False):
        for group in render_aggregated(is_core, "v2", served)["items"]:
            for version in group["versions"]:
                group_version = "/".join(filter(None, (group["metadata"].get("name", ""), version["version"])))
                ours += [line_of(group_version, resource) for resource in version["resources"]]
    ours = [line for line in ours if not line.startswith(OLDER)]
    assert sorted(set(ours) - set(PUBLISHED)) == []
    assert sorted(set(PUBLISHED) - set(ours)) == []
    assert ours == PUBLISHED
