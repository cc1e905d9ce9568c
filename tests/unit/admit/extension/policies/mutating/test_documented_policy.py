"""The mutating policy of docs/policies.md does what the page says."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.admit.extension.plain_world import creation
from tests.unit.admit.extension.policies.mutating.mutating_world import MutatingWorld, mutated

from moorage.admit.extension.attributes import ObjectKind, ObjectResource
from moorage.admit.raw import Raw

_PAGE = Path(__file__).parents[6] / "docs" / "policies.md"
_BLOCK = re.compile(r"```yaml\n(.*?)```", re.DOTALL)
_HASH = {"pod-template-hash": "abc"}
_KEYS = ["pod-template-hash"]


def documented() -> MutatingWorld:
    documents = [each for block in _BLOCK.findall(_PAGE.read_text("utf-8")) for each in yaml.safe_load_all(block)]
    [policy] = [each for each in documents if each["kind"] == "MutatingAdmissionPolicy"]
    [binding] = [each for each in documents if each["kind"] == "MutatingAdmissionPolicyBinding"]
    spec = policy["spec"]
    expressions = [each["jsonPatch"]["expression"] for each in spec.pop("mutations")]
    world = MutatingWorld()
    world.put_mutator(binding["spec"]["policyName"], *expressions, **spec)
    return world


def pod(labels: Raw, *terms: Raw) -> Raw:
    spec: Raw = {"containers": [{"name": "a", "image": "x"}]}
    if terms:
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}
    metadata = {"name": "p", "namespace": "team-a", "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("labels", "terms", "keys"),
    [
        (_HASH, [{"topologyKey": "zone"}, {"topologyKey": "host"}], [_KEYS, _KEYS]),
        (_HASH, [{"topologyKey": "zone", "matchLabelKeys": ["own"]}, {"topologyKey": "host"}], [["own"], _KEYS]),
        ({"app": "x"}, [{"topologyKey": "zone"}], [None]),
        (_HASH, [], []),
    ],
)
def test_pods_of_a_deployment_ignore_those_of_other_revisions(labels: Raw, terms: list[Raw], keys: list[Any]) -> None:
    kind, resource = ObjectKind("", "v1", "Pod"), ObjectResource("", "v1", "pods")
    result = mutated(documented(), creation(pod(labels, *terms), kind=kind, resource=resource)) or {}
    affinity = result["spec"].get("affinity", {}).get("podAntiAffinity", {})
    found = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", [])
    assert [term.get("matchLabelKeys") for term in found] == keys
