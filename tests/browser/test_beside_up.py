"""`moorage up --dashboard`: one command, a cluster and its page; both end together."""

import re
import socket
from pathlib import Path

from playwright.sync_api import Browser, expect
from tests.browser.conftest import EXAMPLE
from tests.e2e.running_cluster import moorage_up

_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/\?token=\S+")


def test_the_page_of_a_new_cluster(browser: Browser, tmp_path: Path) -> None:
    with moorage_up(tmp_path, "--nodes", "0", "--load", str(EXAMPLE / "nodes.yaml"), "--dashboard") as cluster:
        assert cluster.process.stdout is not None
        found = next(filter(None, map(_ADDRESS.search, cluster.process.stdout)))
        with browser.new_context() as context:
            page = context.new_page()
            page.goto(found.group())
            expect(page.locator(".source-detail")).to_contain_text("8 nodes")
            expect(page.locator(".source-name")).to_have_text(re.compile(re.escape(cluster.url) + "|moorage"))
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(found[1]))) != 0, "the dashboard has outlived its cluster"
