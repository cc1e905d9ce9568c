"""An API server that lists its pods page by page, each when the test lets it, as a large cluster does."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

PAGE, PAGES = 500, 3
#: A page that is not let through yet is empty after this time: no limit of the client depends on how long a test takes.
_PAUSE_SECONDS = 0.5


class SlowServer(ThreadingHTTPServer):
    """Answers the first page at once. `next_page` lets one more be answered; with `refuses` it is a 403."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.next_page = threading.Semaphore(0)
        self.is_ending = threading.Event()
        self.refuses = False

    def write_kubeconfig(self, path: Path) -> str:
        server = f"http://127.0.0.1:{self.server_address[1]}"
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "contexts": [{"name": "slow", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {}}],
            "current-context": "slow",
        }
        path.write_text(json.dumps(document), "utf-8")
        return str(path)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SlowServer

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        if query.get("watch"):
            self.server.is_ending.wait()
            self.close_connection = True
        elif url.path == "/api/v1/pods" and query.get("limit") == str(PAGE):
            self._pods(int(query.get("continue", "0")))
        elif url.path == "/api/v1/nodes":
            node = {"metadata": {"name": "n1", "uid": "n1", "resourceVersion": "1"}, "spec": {}, "status": {}}
            self._answer(200, {"kind": "NodeList", "metadata": {"resourceVersion": "9"}, "items": [node]})
        elif url.path in ("/version", "/api/v1/pods"):
            self._answer(200, {"kind": "PodList", "metadata": {"resourceVersion": "9"}, "items": []})
        else:
            self._answer(404, {"kind": "Status", "status": "Failure", "code": 404, "message": "not here"})

    def _pods(self, page: int) -> None:
        begin = page * PAGE
        if page:
            if not self.server.next_page.acquire(timeout=_PAUSE_SECONDS):
                return self._page_of_pods(range(begin, begin))
            if self.server.refuses:
                text = 'pods is forbidden: User "u" cannot list resource "pods"'
                status = {"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": text}
                return self._answer(403, status)
        return self._page_of_pods(range(begin, begin + PAGE))

    def _page_of_pods(self, numbers: range) -> None:
        metadata: dict[str, Any] = {"resourceVersion": "9"}
        left = PAGE * PAGES - numbers.stop
        if left:
            metadata |= {"continue": str(numbers.stop // PAGE), "remainingItemCount": left}
        pods = [
            {
                "metadata": {"name": name, "namespace": "default", "uid": name, "resourceVersion": "1"},
                "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]},
                "status": {"phase": "Running"},
            }
            for name in (f"p{number}" for number in numbers)
        ]
        self._answer(200, {"kind": "PodList", "metadata": metadata, "items": pods})

    def _answer(self, status: int, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        with suppress(OSError):  # the dashboard has ended
            self.end_headers()
            self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""


@contextmanager
def slow_server() -> Iterator[SlowServer]:
    server = SlowServer()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.is_ending.set()
        server.next_page.release(PAGES)
        server.shutdown()
        thread.join()
        server.server_close()
