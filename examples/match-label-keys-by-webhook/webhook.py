"""Add `matchLabelKeys: [pod-template-hash]` to the required anti-affinity of pods: a mutating webhook in Python.

`python webhook.py` serves it on this machine, tells the cluster of $KUBECONFIG about it, and goes on until it is ended.
"""

import json
import os
import subprocess
import threading
from typing import Any

from moorage.testing import Verdict, WebhookServer, patch

Raw = dict[str, Any]
KEY = "pod-template-hash"
PATH = "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution"


def add_revision(request: Raw) -> Verdict | None:
    """Answer an AdmissionRequest about a pod: operations of a JSON patch, or None to leave it as it is."""
    pod = request["object"]
    labels = pod["metadata"].get("labels", {})
    terms = pod["spec"].get("affinity", {}).get("podAntiAffinity", {}).get(PATH.rpartition("/")[2], [])
    numbers = [number for number, term in enumerate(terms) if KEY in labels and wants_key(term, labels)]
    if not numbers:
        return None
    keys = {number: [*terms[number].get("matchLabelKeys", []), KEY] for number in numbers}
    return patch(*({"op": "add", "path": f"{PATH}/{n}/matchLabelKeys", "value": keys[n]} for n in numbers))


def wants_key(term: Raw, labels: Raw) -> bool:
    """Return whether a term keeps the pod away from pods like itself, may have the key, and has not got it."""
    selector = term.get("labelSelector")
    if selector is None or "mismatchLabelKeys" in term or KEY in term.get("matchLabelKeys", []):
        return False
    wanted = selector.get("matchLabels", {})
    uses_key = KEY in wanted or any(each["key"] == KEY for each in selector.get("matchExpressions", []))
    return not uses_key and all(labels.get(key) == value for key, value in wanted.items())


def configuration(webhook: WebhookServer) -> Raw:
    """Return the MutatingWebhookConfiguration: only pods that have a revision are sent."""
    condition = {"name": "pod-has-a-revision", "expression": f"object.metadata.?labels[?'{KEY}'].hasValue()"}
    return webhook.mutating(
        "match-label-keys",
        operations=["CREATE"],
        groups=[""],
        versions=["v1"],
        resources=["pods"],
        matchConditions=[condition],
        reinvocationPolicy="IfNeeded",
    )


def main() -> None:
    with WebhookServer(add_revision) as webhook:
        apply = [os.environ.get("KUBECTL", "kubectl"), "apply", "-f", "-"]
        subprocess.run(apply, input=json.dumps(configuration(webhook)), text=True, check=True)
        print(f"Serving at {webhook.url}")
        threading.Event().wait()


if __name__ == "__main__":
    main()
