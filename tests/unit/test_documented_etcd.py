"""The messages in docs/high-availability.md are those that are said, and docs/store.md can be typed as it stands."""

import re
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.etcd_process import EtcdCluster, etcd_cluster

from moorage.store.etcd.wire.refusals import meaning
from moorage.store.etcd.wire.streams import GrpcStatus
from moorage.store.etcd.wire.tls import closed_at_once, tls_trouble

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "high-availability.md").read_text(encoding="utf-8")
URL = "https://10.0.0.1:2379"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (14, "etcdserver: no leader"),
        (8, "etcdserver: mvcc: database space exceeded"),
        (3, "etcdserver: authentication failed, invalid user ID or password"),
        (3, "etcdserver: user name is empty"),
        (7, "etcdserver: permission denied"),
        (3, "etcdserver: request is too large"),
        (12, "…"),
    ],
)
def test_refusals_of_etcd(code: int, text: str) -> None:
    said = str(meaning(GrpcStatus(code, text), URL))
    assert f"| `{said.replace('`', chr(39))}` |" in PAGE


class _Trouble(ssl.SSLError):
    """What OpenSSL reports, with its name for the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(1, reason)
        self.reason = reason


def test_troubles_of_tls() -> None:
    untrusted = ssl.SSLCertVerificationError(1, "…")
    untrusted.verify_message = "…"
    assert f"`{URL}: {tls_trouble(untrusted)}`" in PAGE
    assert f"`{URL}: {tls_trouble(_Trouble('WRONG_VERSION_NUMBER'))}`" in PAGE
    refused = re.sub(r"\(.*\)", "(…)", tls_trouble(_Trouble("TLSV13_ALERT_CERTIFICATE_REQUIRED")))
    assert f"`{URL}: {refused}`" in PAGE
    assert f"`{closed_at_once(URL.replace('https', 'http'))}`" in PAGE


def test_messages_of_other_places() -> None:
    sources = {
        "src/moorage/store/etcd/wire/dial.py": ("connection refused: does etcd run there?", "does not answer"),
        "src/moorage/store/etcd/store.py": ("objects were being moved into this etcd and not all are there",),
    }
    for path, texts in sources.items():
        source = (ROOT / path).read_text(encoding="utf-8")
        assert [text for text in texts if text not in source or text not in PAGE] == []


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    with etcd_cluster(tmp_path_factory.mktemp("etcd")) as cluster:
        yield cluster


def test_the_session_of_the_store_page(etcd: EtcdCluster, tmp_path: Path) -> None:
    """Type it in an empty home; numbers may differ."""
    page = (ROOT / "docs" / "store.md").read_text(encoding="utf-8")
    session = re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[0]
    session = session.replace("http://127.0.0.1:2379", etcd.urls[0])
    for part in session.removeprefix("$ ").split("\n$ "):
        command, _, shown = part.partition("\n")
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=tmp_path,
            env={"HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        if shown:
            assert _without_numbers(done.stdout.strip()) == _without_numbers(shown.strip())


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+", "N", text)
