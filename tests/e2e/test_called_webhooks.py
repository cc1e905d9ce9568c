"""plan and lint call webhooks where --call-webhooks says so: those without side effects, with reviews of dry runs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.forked_command import forked_moorage

from moorage.testing import Verdict, WebhookServer, allow, deny, patch

Raw = dict[str, Any]
_PODS = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
_NODES = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    }
    for name in ("n1", "n2")
]


def pod(name: str) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }


@pytest.fixture
def reviews() -> list[Raw]:
    return []


@pytest.fixture
def server(reviews: list[Raw]) -> Iterator[WebhookServer]:
    def review(request: Raw) -> Verdict:
        reviews.append(request)
        if request["name"] == "refused":
            return deny("not this one")
        if request["name"] == "moved":
            return patch({"op": "add", "path": "/spec/nodeSelector", "value": {"kubernetes.io/hostname": "n2"}})
        return allow(warnings=["an old image"] if request["name"] == "warned" else ())

    with WebhookServer(review, service="system/hooks") as server:
        yield server


def written(folder: Path, *objects: Raw) -> str:
    path = folder / "input.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    return str(path)


def service_of(server: WebhookServer) -> str:
    """Return the option that says where the webhook is, whose configurations name a Service."""
    return f"--webhook-service=system/hooks=https://{server.url.removeprefix('https://').partition('/')[0]}"


def test_plan_places_what_webhooks_have_made(tmp_path: Path, server: WebhookServer, reviews: list[Raw]) -> None:
    mutating = server.mutating("hooks", rules=_PODS)
    path = written(tmp_path, *_NODES, pod("moved"), pod("refused"), pod("warned"), mutating)
    done = forked_moorage(["plan", "--call-webhooks", service_of(server), "-o", "json", path], cwd=tmp_path)
    assert '"n2"' in done.stdout
    assert "not this one" in done.stdout
    assert "warns: an old image" in done.stdout
    assert {(one["name"], one["dryRun"]) for one in reviews} == {("moved", True), ("refused", True), ("warned", True)}
    reviews.clear()
    assert "not this one" not in forked_moorage(["plan", path], cwd=tmp_path).stdout
    assert reviews == []


def test_lint_finds_what_webhooks_refuse(tmp_path: Path, server: WebhookServer, reviews: list[Raw]) -> None:
    path = written(tmp_path, pod("refused"), pod("warned"), server.validating("hooks", rules=_PODS))
    service = service_of(server)
    done = forked_moorage(["lint", "--call-webhooks", service, path], cwd=tmp_path)
    assert done.returncode == 1
    assert "not this one" in done.stdout
    assert "warning [policy-warns] Pod default/warned" in done.stdout
    assert "warns: an old image" in done.stdout
    refused = forked_moorage(["lint", "--call-webhooks", path], cwd=tmp_path)
    assert "--webhook-service system/hooks=URL names it" in refused.stdout
    assert forked_moorage(["lint", service, path], cwd=tmp_path).returncode == 2
