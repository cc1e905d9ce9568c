"""Take the screenshots of docs/images: `make screenshots`. Look at them before they are committed.

A made-up cluster of spot, on-demand and GPU nodes, big enough to look like one, is shown from files.
"""

import base64
import json
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright
from tests.browser.conftest import ALL_GATES, BROWSER_ARGUMENTS, chromium
from tests.browser.dashboard_process import moorage_dashboard

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
KEY = "spot.example.com/failure-probability"
POD = "checkout"
SIZE = {"width": 1280, "height": 800}
_POOLS = {"spot": 0.6, "on-demand": 0.85, "gpu": 1.0}
_WORKLOADS = (("web", 220, "500m", 25), ("api", 160, "1", 12), ("batch", 260, "2", 60), ("cache", 60, "1500m", 8))


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        manifests = directory / "production.json"
        manifests.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": _cluster()}), "utf-8")
        with (
            moorage_dashboard(directory, manifests.name, ALL_GATES, cwd=directory) as dashboard,
            sync_playwright() as playwright,
            playwright.chromium.launch(executable_path=chromium(), args=BROWSER_ARGUMENTS) as browser,
        ):
            context = browser.new_context(viewport=SIZE, device_scale_factor=1.5)  # type: ignore[arg-type]
            context.set_default_timeout(120_000)
            page = context.new_page()
            page.goto(dashboard.address)
            page.wait_for_url(dashboard.url)
            for picture, view, ready in _views():
                page.goto(f"{dashboard.url}{view}")
                page.locator(ready).first.wait_for()
                _rest(page)
                page.screenshot(path=IMAGES / f"dashboard-{picture}.png")
            page.emulate_media(color_scheme="dark")
            page.goto(f"{dashboard.url}#/map?colour=taint:{KEY}")
            _rest(page)
            page.screenshot(path=IMAGES / "dashboard-map-dark.png")


def _views() -> list[tuple[str, str, str]]:
    """Return the name of each picture, the address, and what is there when it is ready."""
    nodes = {"label": {"key": "example.com/pool", "value": "spot"}}
    changes = [{"taint": {"nodes": nodes, "key": KEY, "value": "20", "effect": "NoExecute"}}]
    shared = base64.urlsafe_b64encode(json.dumps(changes, separators=(",", ":")).encode()).decode().rstrip("=")
    return [
        ("map", f"#/map?colour=taint:{KEY}", "moorage-node-map canvas"),
        ("pod", f"#/map?colour=taint:{KEY}&look=shop/{POD}", ".pod-drawer h2"),
        ("what-if", f"#/slider?changes={shared}", "moorage-slider h1"),
        ("pending", "#/pending", "moorage-pending h1"),
        ("playground", "#/playground", "moorage-playground h1"),
        ("timeline", "#/timeline", "moorage-timeline h1"),
        ("gates", "#/gates", "moorage-gates h1"),
    ]


def _rest(page: Page) -> None:
    """Wait until no answer is under way and what moves has come to rest."""
    page.wait_for_load_state("load")
    page.wait_for_timeout(6_000)


def _cluster() -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for number in range(120):
        pool = next(name for name, upto in _POOLS.items() if number % 20 / 20 < upto)
        taints = [{"key": KEY, "value": str(3 + number * 7 % 30), "effect": "NoExecute"}] if pool == "spot" else []
        allocatable = {"cpu": "16", "memory": "64Gi", "pods": "110"}
        labels = {"topology.kubernetes.io/zone": f"zone-{'abc'[number % 3]}", "example.com/pool": pool}
        items.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": f"{pool}-{number:03}", "labels": labels},
                "spec": {"taints": taints},
                "status": {"allocatable": allocatable, "capacity": allocatable},
            }
        )
    for name, replicas, cpu, limit in _WORKLOADS:
        toleration = {"key": KEY, "operator": "Lt", "value": str(limit), "effect": "NoExecute"}
        items.append(_deployment(name, replicas, cpu, {"tolerations": [toleration]}))
    items.append(_pod())
    items.append(_deployment("trainer", 4, "12", {"nodeSelector": {"example.com/pool": "tpu"}}))
    return items


def _pod() -> dict[str, Any]:
    """A pod of a known name, whose panel is shown: it lasts on its node for a while."""
    toleration = {"key": KEY, "operator": "Lt", "value": "40", "effect": "NoExecute", "tolerationSeconds": 3600}
    requests = {"cpu": "500m", "memory": "1Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": POD, "namespace": "shop", "labels": {"app": POD}},
        "spec": {
            "tolerations": [toleration],
            "containers": [{"name": "app", "image": "checkout:v1", "resources": {"requests": requests}}],
        },
    }


def _deployment(name: str, replicas: int, cpu: str, spec: dict[str, Any]) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "app", "image": f"{name}:v1", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {**spec, "containers": [container]}},
        },
    }


if __name__ == "__main__":
    main()
