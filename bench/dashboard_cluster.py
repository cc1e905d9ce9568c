"""Serve the dashboard's page with a made-up cluster: any number of nodes and pods, and pods that keep moving."""

from __future__ import annotations

import json
import random
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from moorage.dashboard.http.application import Asset, read_assets
from moorage.dashboard.http.guard import SECURITY_HEADERS
from moorage.dashboard.state.page_names import page_names
from moorage.dashboard.state.readings import readings

if TYPE_CHECKING:
    from collections.abc import Iterator

ZONES = ("zone-a", "zone-b", "zone-c")
POOLS = ("general", "memory", "gpu", "spot")
NODE_CPU, NODE_MEMORY, NODE_PODS = 16_000, 64 * 2**30, 110
POD_CPU, POD_MEMORY = 500, 2**30
WAITING = 20
#: Seconds between changes that are sent: what the dashboard's own server gathers them for.
TICK = 0.1
#: What the page asks about the cluster: nothing is simulated, so there is nothing to tell.
ANSWERS: dict[str, dict[str, Any]] = {
    "/api/ask/tipping": {
        "part": "tipping",
        "tips": [],
        "complete": True,
        "why": "this cluster is made up",
        "done": True,
    },
    "/api/ask/budgets": {"budgets": [], "exhausted": 0, "done": True},
}


class MadeUpCluster:
    """Rows as `/api/state` has them. `move` moves pods and returns the delta that tells of it."""

    def __init__(self, nodes: int, pods: int, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self.seq = 1
        self.streams = 0  # how many are open
        self.nodes = [self._node(number) for number in range(nodes)]
        self.workloads = [f"Deployment team-{number % 7}/app-{number}" for number in range(max(1, pods // 25))]
        self.labels = [f"app=app-{number},pod-template-hash={number:010x}" for number in range(len(self.workloads))]
        self.places = [self._random.randrange(nodes) for _ in range(pods)]
        for place in self.places:
            self._use(place, 1)

    def state(self) -> dict[str, Any]:
        apps = len(self.workloads)
        pods = [[self._key(pod), pod % apps, place, "Running", pod % apps] for pod, place in enumerate(self.places)]
        # Some wait, as in most clusters: the page counts them and asks why.
        pods += [[f"team-0/waits-{number}", 0, -1, "Pending", 0] for number in range(WAITING)]
        source = {"kind": "live", "name": "made up", "context": "bench", "connected": True, "problem": "", "time": 0}
        names = [node["name"] for node in self.nodes]
        return {
            "seq": self.seq,
            "source": source,
            "changes": {"allowed": False, "dryRun": False},
            "names": page_names(),
            "nodes": self.nodes,
            "pods": {"workloads": self.workloads, "nodes": names, "labels": self.labels, "rows": pods},
            "happenings": [],
        }

    def move(self, count: int) -> dict[str, Any]:
        self.seq += 1
        touched: set[int] = set()
        pods = []
        for _ in range(count):
            pod, to = self._random.randrange(len(self.places)), self._random.randrange(len(self.nodes))
            self._use(self.places[pod], -1)
            touched |= {self.places[pod], to}
            self.places[pod] = to
            self._use(to, 1)
            workload = self.workloads[pod % len(self.workloads)]
            pods.append([self._key(pod), workload, self.nodes[to]["name"], "Running", None, None])
        happenings = [[time.time(), "bound", pod[0], pod[1], f"to {pod[2]}"] for pod in pods]
        nodes = [self.nodes[one] for one in sorted(touched)]
        return {"seq": self.seq, "time": time.time(), "nodes": nodes, "pods": pods, "happenings": happenings}

    def _key(self, pod: int) -> str:
        return f"team-{pod % len(self.workloads) % 7}/app-{pod}"

    def _node(self, number: int) -> dict[str, Any]:
        name = f"node-{number:05d}"
        level = str(self._random.randrange(10))
        return {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "topology.kubernetes.io/zone": self._random.choice(ZONES),
                "example.com/pool": self._random.choice(POOLS),
            },
            "taints": [{"key": "example.com/level", "value": level, "effect": "NoExecute"}] if number % 2 else [],
            "ready": number % 97 != 0,
            "schedulable": number % 61 != 0,
            "created": "2026-01-01T00:00:00Z",
            "version": self._random.choice(("v1.35.4", "v1.36.4")),
            "resources": {"cpu": [0, NODE_CPU], "memory": [0, NODE_MEMORY], "pods": [0, NODE_PODS]},
            "devices": {},
        }

    def _use(self, node: int, pods: int) -> None:
        resources = self.nodes[node]["resources"]
        for name, amount in (("cpu", POD_CPU), ("memory", POD_MEMORY), ("pods", 1)):
            resources[name][0] += pods * amount


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cluster: MadeUpCluster
    lock: threading.Lock
    assets: dict[str, Asset]
    moves: int

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/api/status":
            return self._answer(200, "application/json", b'{"ready": true}')
        if path == "/api/state":
            with self.lock:
                body = json.dumps(self.cluster.state()).encode()
            return self._answer(200, "application/json", body)
        if path == "/api/changes":
            return self._follow()
        asset = self.assets.get("index.html" if path == "/" else path.removeprefix("/"))
        if asset is None:
            return self._answer(404, "application/json", b'{"error": "this cluster is made up"}')
        return self._answer(200, asset.content_type, asset.body)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = readings(body["texts"]) if self.path == "/api/readings" else ANSWERS.get(self.path)
        if answer is None:
            return self._answer(404, "application/json", b'{"error": "this cluster is made up"}')
        return self._answer(200, "application/json", json.dumps(answer).encode())

    def _follow(self) -> None:
        with self.lock:
            self.cluster.streams += 1
        try:
            self._stream()
        finally:
            with self.lock:
                self.cluster.streams -= 1

    def _stream(self) -> None:
        self._head(200, "text/event-stream")
        self.end_headers()
        self.close_connection = True
        try:
            self.wfile.write(b": hello\n\n")
            while True:
                time.sleep(TICK)
                with self.lock:
                    delta = self.cluster.move(max(1, round(self.moves * TICK)))
                self.wfile.write(b"event: delta\nid: %d\ndata: %b\n\n" % (delta["seq"], json.dumps(delta).encode()))
        except OSError:
            return

    def _answer(self, status: int, content_type: str, body: bytes) -> None:
        self._head(status, content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _head(self, status: int, content_type: str) -> None:
        self.send_response(status)
        for name, value in SECURITY_HEADERS:
            self.send_header(name, value)
        self.send_header("Content-Type", content_type)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""


@contextmanager
def serve_made_up_cluster(nodes: int, pods: int, moves_per_second: int) -> Iterator[tuple[str, MadeUpCluster]]:
    """Serve it on a free port of 127.0.0.1; yields the address and the cluster."""
    cluster = MadeUpCluster(nodes, pods)
    fields = {
        "cluster": cluster,
        "lock": threading.Lock(),
        "assets": read_assets(),
        "moves": moves_per_second,
    }
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), fields))
    server.daemon_threads = True
    # A browser that is closed drops its connections: nothing to report.
    server.handle_error = lambda request, client_address: None  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", cluster
    finally:
        server.shutdown()
        thread.join()
