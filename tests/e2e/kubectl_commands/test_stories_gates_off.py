"""Every example, applied by kubectl with the gates off: refused, or accepted without the fields, as its README says."""

import json
import re

import pytest
from tests.e2e.kubectl import Kubectl
from tests.e2e.kubectl_commands.stories import EXAMPLES, documents

GATES = (
    "TaintTolerationComparisonOperators",
    "TaintTolerationCEL",
    "TaintTolerationNodeAffinitySemverComparisonOperators",
    "MatchLabelKeysInPodAffinity",
)
UP_OPTIONS = ("--nodes", "0", "--feature-gates", ",".join(f"{gate}=false" for gate in GATES))
FOLDERS = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", FOLDERS)
def test_without_its_gate(kubectl: Kubectl, folder: str) -> None:
    readme = (EXAMPLES / folder / "README.md").read_text(encoding="utf-8")
    fate = re.search(r"^\| with the gate off \| (.+) \|$", readme, re.MULTILINE)
    assert fate is not None
    user = Kubectl(kubectl.kubeconfig, kubectl.home, "") if folder == "exclusive-tenants" else kubectl
    if fate[1] == "rejected":
        said = user.fails(f"apply -f {EXAMPLES / folder}")
        assert re.search(r'"[\w-]+" is invalid: spec', said), said
        return
    user(f"apply -f {EXAMPLES / folder}")
    for document in documents(folder):
        if document["kind"] == "Deployment":
            metadata = document["metadata"]
            namespace = f"-n {metadata['namespace']}" if "namespace" in metadata else ""
            stored = json.loads(user(f"get deployment {metadata['name']} {namespace} -o json").out)
            assert "matchLabelKeys" in json.dumps(document["spec"])
            assert "matchLabelKeys" not in json.dumps(stored["spec"])
