"""`moorage gates --scrape https://…`: whose certificates are trusted, and where a token is sent."""

import datetime
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from moorage.cli.commands.gates import command
from moorage.serve.pki.certificates import Authority

pytestmark = pytest.mark.real_time

METRICS = b'kubernetes_feature_enabled{component="kube-scheduler",name="TaintTolerationCEL",stage="ALPHA"} 1\n'


@contextmanager
def component(folder: Path, *, is_secure: bool = True) -> Iterator[tuple[str, list[str]]]:
    """Serve metrics to holders of the token `secret`; yields the address, and the Authorization headers that came."""
    seen: list[str] = []

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization", ""))
            self.send_response(200 if seen[-1] == "Bearer secret" or not is_secure else 401)
            self.end_headers()
            self.wfile.write(METRICS)

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = HTTPServer(("127.0.0.1", 0), Answering)
    if is_secure:
        authority = Authority.create(datetime.datetime.now(datetime.UTC))
        issued = authority.issue_server(["127.0.0.1"])
        (folder / "ca.crt").write_bytes(authority.issued.certificate)
        (folder / "tls.pem").write_bytes(issued.certificate + issued.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "tls.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http{'s' if is_secure else ''}://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def token(tmp_path: Path) -> str:
    (tmp_path / "token").write_text("secret\n")
    return str(tmp_path / "token")


def test_a_component_that_serves_https_is_asked_with_a_token(tmp_path: Path, token: str) -> None:
    with component(tmp_path) as (url, seen):
        trusting = ["--scrape", url, "--scrape-ca", str(tmp_path / "ca.crt")]
        found = CliRunner().invoke(command, [*trusting, "--scrape-token-file", token])
        assert (found.exit_code, found.stderr) == (0, "")
        assert "TaintTolerationCEL" in found.stdout
        without = CliRunner().invoke(command, trusting)
        assert (without.exit_code, without.stderr) == (2, f"moorage: --scrape: {url}/metrics: Unauthorized\n")
    assert seen == ["Bearer secret", ""]


def test_certificates_of_others_are_not_trusted_and_get_no_token(tmp_path: Path, token: str) -> None:
    with component(tmp_path) as (url, seen):
        found = CliRunner().invoke(command, ["--scrape", url, "--scrape-token-file", token])
    assert found.exit_code == 2
    assert "certificate verify failed" in found.stderr.lower().replace("_", " ")
    assert seen == []


def test_a_token_is_not_sent_in_the_clear(tmp_path: Path, token: str) -> None:
    with component(tmp_path, is_secure=False) as (url, seen):
        assert CliRunner().invoke(command, ["--scrape", url, "--scrape-token-file", token]).exit_code == 0
    assert seen == [""]


@pytest.mark.parametrize("option", ["--scrape-ca", "--scrape-token-file"])
def test_files_that_cannot_be_used_are_named(option: str, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    found = CliRunner().invoke(command, ["--scrape", "https://127.0.0.1:1", option, missing])
    assert found.exit_code == 2
    assert f"moorage: {option}: {missing}: No such file or directory" in found.stderr
    assert "need --scrape" in CliRunner().invoke(command, [option, missing]).stderr
