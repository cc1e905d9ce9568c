"""Tests of the webhook, in a cluster of their own: `pytest examples/match-label-keys-by-webhook`."""

import json
from pathlib import Path

import pytest
from webhook import KEY, add_revision, configuration

from moorage.testing import Cluster, WebhookServer, eventually

FOLDER = Path(__file__).parent
TERM = "requiredDuringSchedulingIgnoredDuringExecution"


def test_terms_about_other_pods_are_left_alone() -> None:
    other = {"labelSelector": {"matchLabels": {"app": "noisy"}}, "topologyKey": "kubernetes.io/hostname"}
    pod = {
        "metadata": {"labels": {"app": "web", KEY: "5b8f"}},
        "spec": {"affinity": {"podAntiAffinity": {TERM: [other]}}},
    }
    assert add_revision({"object": pod}) is None
    other["labelSelector"] = {"matchLabels": {"app": "web"}}
    verdict = add_revision({"object": pod})
    assert verdict is not None
    assert [operation["value"] for operation in verdict.patch] == [[KEY]]


@pytest.mark.moorage(nodes=0)
def test_a_rolling_update_passes(moorage_cluster: Cluster) -> None:
    kubectl = moorage_cluster.kubectl
    kubectl(f"apply -f {FOLDER}/nodes.yaml")
    with WebhookServer(add_revision) as webhook:
        kubectl("apply -f -", stdin=json.dumps(configuration(webhook)))
        kubectl(f"apply -f {FOLDER}/web.yaml")
        kubectl("rollout status deployment web --timeout=60s")
        kubectl("set image deployment/web web=nginx:1.29.1")
        kubectl("rollout status deployment web --timeout=60s")
        assert eventually(lambda: len(kubectl("get pods -o json").json["items"]) == 2)
    # It was asked about the pods of both revisions, and about nothing else.
    assert {request["resource"]["resource"] for request in webhook.requests} == {"pods"}
    assert len({request["object"]["metadata"]["labels"][KEY] for request in webhook.requests}) == 2
