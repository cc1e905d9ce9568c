"""What a page does when its cluster, its credentials or its dashboard go away: it says so, and goes on by itself."""

import base64
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect
from tests.browser.accessibility import violations
from tests.browser.conftest import PATIENCE, OpenPage, Visitor
from tests.browser.dashboard_process import moorage_dashboard
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import Cluster, moorage_up


class Restartable:
    """A cluster that can be killed and started again, at the same address and with the same objects."""

    def __init__(self, directory: Path, until: ExitStack) -> None:
        self._directory, self._until = directory, until
        self._port = "0"
        self.cluster = self.start()

    def start(self) -> Cluster:
        started = self._until.enter_context(ExitStack())
        options = ("--nodes", "2", "--data-dir", str(self._directory / "data"), "--port", self._port)
        self.cluster = started.enter_context(_ending_somehow(self._directory, *options))
        self._port = self.cluster.url.rpartition(":")[2]
        return self.cluster

    def kill(self) -> None:
        self.cluster.process.send_signal(signal.SIGKILL)
        self.cluster.process.wait()


class _ending_somehow:
    """`moorage_up` for a cluster that a test kills: how it ended is not looked at then."""

    def __init__(self, directory: Path, *options: str) -> None:
        self._up = moorage_up(directory, *options)

    def __enter__(self) -> Cluster:
        self._cluster = self._up.__enter__()
        return self._cluster

    def __exit__(self, *reason: object) -> None:
        if self._cluster.process.returncode is None:
            self._up.__exit__(None, None, None)
        elif self._cluster.process.stdout is not None:
            self._cluster.process.stdout.close()


@pytest.fixture
def restartable(tmp_path: Path) -> Iterator[Restartable]:
    with ExitStack() as until:
        yield Restartable(tmp_path, until)


def _kubectl(cluster: Cluster) -> Kubectl:
    return Kubectl(cluster.kubeconfig, cluster.home)


def _wait_for_pods(page: Page, number: int) -> None:
    expect(page.locator(".source-detail")).to_contain_text(f"{number} pod", timeout=PATIENCE)


def test_the_cluster_goes_and_comes_back(browser: Browser, restartable: Restartable, tmp_path: Path) -> None:
    """The page says which server is gone, shows what it knew, and goes on with what happened meanwhile."""
    cluster = restartable.cluster
    with (
        moorage_dashboard(tmp_path, "--kubeconfig", str(cluster.kubeconfig)) as dashboard,
        Visitor(browser, dashboard).context() as context,
    ):
        page, other = context.new_page(), context.new_page()
        for one in (page, other):
            one.goto(dashboard.url)
            expect(one.locator(".source-detail")).to_contain_text("2 nodes")
            expect(one.locator(".source-detail")).to_contain_text("Up to date")
            expect(one.locator(".source-name")).to_have_text("moorage")
        expect(page.locator(".start-link")).not_to_have_count(0)
        expect(page.locator("moorage-node-map")).to_contain_text("There are no pods")
        other.goto(f"{dashboard.url}#/pending")
        expect(other.locator("moorage-pending .lead")).to_have_text("There are no pods")
        focused = page.get_by_role("link", name="Gates")
        focused.focus()
        restartable.kill()
        for one in (page, other):
            expect(one.locator("#problem")).to_contain_text("cannot be reached", timeout=PATIENCE)
            expect(one.locator("#problem code")).to_have_text("moorage list")
            expect(one.locator("#problem").get_by_role("button")).to_have_count(0)  # it is so: nothing to dismiss
            expect(one.locator(".source-detail")).to_contain_text("Cluster stopped answering")
            expect(one.locator(".source-detail")).to_contain_text("2 nodes")
        expect(page.locator(".start-link")).to_have_count(0)  # nothing is said of a cluster that does not answer
        expect(page.locator(".start-line")).to_have_class("start-line silent")
        _assert_takes_space(page)
        expect(focused).to_be_focused()
        before_loss = re.compile(r"as of \d\d:\d\d, before the connection was lost")
        expect(page.locator("moorage-node-map")).to_contain_text(before_loss)
        expect(page.locator("moorage-node-map")).not_to_contain_text("There are no pods")
        expect(other.locator("moorage-pending .lead")).to_have_text(re.compile("There were no pods as of .* lost"))
        _kubectl(restartable.start())("create deployment web --image=nginx --replicas=3")
        for one in (page, other):
            _wait_for_pods(one, 3)
            expect(one.locator("#problem")).to_be_hidden(timeout=PATIENCE)
        expect(page.locator(".start-link")).not_to_have_count(0)


def _assert_takes_space(page: Page) -> None:
    """The banner is below the header and above the view, which ends at the window's lower edge as before."""
    header, banner, main = (page.locator(part).bounding_box() for part in ("#header", "#problem", "#main"))
    assert header is not None
    assert banner is not None
    assert main is not None
    assert header["y"] + header["height"] <= banner["y"] + 1
    assert banner["y"] + banner["height"] <= main["y"] + 1
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight + 1")


def test_the_dashboard_ends_and_is_started_again(browser: Browser, tmp_path: Path) -> None:
    """The page says what starts it, then that it was restarted, and goes on once the browser is let in again."""
    nodes = tmp_path / "nodes.yaml"
    nodes.write_text("{apiVersion: v1, kind: Node, metadata: {name: node-1}}", "utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with ExitStack() as until:
        first = until.enter_context(ExitStack())
        dashboard = first.enter_context(moorage_dashboard(tmp_path, str(nodes), "--port", port))
        context = until.enter_context(Visitor(browser, dashboard).context())
        page = context.new_page()
        page.goto(f"{dashboard.url}#/playground")
        expect(page.locator(".source-detail")).to_contain_text("1 node")
        expect(page.locator("moorage-playground h1")).to_be_visible()  # all of the view has been loaded
        first.close()
        problem = page.locator("#problem")
        expect(problem).to_contain_text("does not answer", timeout=PATIENCE)
        expect(problem.locator("code")).to_have_text(
            re.compile(rf"^moorage dashboard .*{re.escape(str(nodes))}.*{port}$")
        )
        expect(page.locator(".source-detail")).to_contain_text("Connection lost")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert violations(page) == []

        dashboard = until.enter_context(moorage_dashboard(tmp_path, str(nodes), "--port", port))
        expect(problem).to_contain_text("was restarted", timeout=PATIENCE)
        expect(problem).to_contain_text("address that it has printed in its terminal")
        nodes.write_text(
            nodes.read_text("utf-8") + "\n---\n{apiVersion: v1, kind: Node, metadata: {name: node-2}}", "utf-8"
        )
        context.new_page().goto(dashboard.address)
        expect(page.locator(".source-detail")).to_contain_text("2 nodes", timeout=PATIENCE)
        expect(problem).to_be_hidden(timeout=PATIENCE)


def test_revisions_start_over(browser: Browser, tmp_path: Path) -> None:
    """A cluster that keeps nothing is another one after its restart: what history the page relied on is gone."""
    with ExitStack() as until:
        options = ["--nodes", "2", "--port", "0"]
        first = until.enter_context(_ending_somehow(tmp_path, *options))
        _kubectl(first)("create deployment web --image=nginx --replicas=3")
        dashboard = until.enter_context(moorage_dashboard(tmp_path, "--kubeconfig", str(first.kubeconfig)))
        page = until.enter_context(Visitor(browser, dashboard).context()).new_page()
        page.goto(dashboard.url)
        _wait_for_pods(page, 3)
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
        options[-1] = first.url.rpartition(":")[2]
        second = until.enter_context(_ending_somehow(tmp_path, *options))
        _kubectl(second)("create deployment api --image=nginx --replicas=1")
        _wait_for_pods(page, 1)
        expect(page.locator("#problem")).to_be_hidden(timeout=PATIENCE)


def test_credentials_end_and_are_renewed(browser: Browser, live_cluster: Cluster, tmp_path: Path) -> None:
    """A token that is not valid any more is told; a new one in the kubeconfig is taken without a restart."""
    kubectl = _kubectl(live_cluster)
    kubeconfig = tmp_path / "viewer"
    kubectl("create serviceaccount viewer")
    kubectl("create clusterrolebinding viewer --clusterrole=cluster-admin --serviceaccount=default:viewer")
    try:
        _write_login(kubeconfig, live_cluster, kubectl("create token viewer").out.strip())
        with (
            moorage_dashboard(tmp_path, "--kubeconfig", str(kubeconfig)) as dashboard,
            Visitor(browser, dashboard).context() as context,
        ):
            page = context.new_page()
            page.goto(dashboard.url)
            expect(page.locator(".source-detail")).to_contain_text("8 nodes")
            kubectl("delete serviceaccount viewer")
            problem = page.locator("#problem")
            expect(problem).to_contain_text("does not accept the kubeconfig's credentials", timeout=PATIENCE)
            expect(problem.locator("code")).to_have_text(f"kubectl --kubeconfig {kubeconfig} --context x auth whoami")
            kubectl("create serviceaccount viewer")
            _write_login(kubeconfig, live_cluster, kubectl("create token viewer").out.strip())
            expect(page.locator("#problem")).to_be_hidden(timeout=PATIENCE)
    finally:
        kubectl("delete serviceaccount viewer --ignore-not-found")
        kubectl("delete clusterrolebinding viewer")


def _write_login(path: Path, cluster: Cluster, token: str) -> None:
    """Write a kubeconfig that logs in with a token, whole or not at all."""
    known = yaml.safe_load(cluster.kubeconfig.read_text("utf-8"))
    authority = known["clusters"][0]["cluster"]
    assert base64.b64decode(authority["certificate-authority-data"])
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": authority}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    written = path.with_suffix(".new")
    written.write_text(yaml.safe_dump(document), "utf-8")
    written.replace(path)


def test_names_from_the_cluster_are_text(live_cluster: Cluster, live_dashboard: Visitor, open_page: OpenPage) -> None:
    """Markup in labels, annotations and images changes nothing in any view."""
    kubectl = _kubectl(live_cluster)
    attack = "<img src=x onerror=window.attacked=1>"
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "attack", "annotations": {"note": f"</script>{attack}"}},
        "spec": {
            "schedulerName": attack,
            "containers": [{"name": "c", "image": attack, "resources": {"requests": {"cpu": "999"}}}],
        },
    }
    kubectl("apply -f -", stdin=yaml.safe_dump(pod))
    try:
        page = open_page(live_dashboard, "#/map")
        for view in ("#/pending?pod=default/attack", "#/timeline", "#/map?search=attack", "#/slider", "#/gates"):
            page.goto(f"{live_dashboard.dashboard.url}{view}")
            expect(page.locator("main h1, main h2").first).to_be_visible()
            assert page.evaluate("window.attacked") is None
            assert page.locator("img[onerror]").count() == 0
        page.goto(f"{live_dashboard.dashboard.url}#/pending?pod=default/attack")
        expect(page.get_by_text("onerror").first).to_be_visible(timeout=PATIENCE)
        assert page.evaluate("window.attacked") is None
        # A page that asks about the pod while it is deleted is told 404, which the browser logs.
        page.goto("about:blank")
    finally:
        kubectl("delete pod attack --wait=false")
