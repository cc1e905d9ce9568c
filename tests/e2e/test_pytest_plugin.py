"""The pytest plugin as other projects use it: found by its entry point, in parallel, with their clients."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = '''
import os
import pytest
from moorage.testing import eventually

SEEN = []

@pytest.mark.parametrize("number", range(3))
@pytest.mark.moorage(nodes=2, gates={"TaintTolerationComparisonOperators": True})
def test_pods_get_nodes(moorage_cluster, number):
    pod = """{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {
        "containers": [{"name": "c", "image": "i"}],
        "tolerations": [{"key": "sla", "operator": "Gt", "value": "900"}]}}"""
    moorage_cluster.kubectl("create -f -", stdin=pod)
    moorage_cluster.kubectl("wait --for=condition=Ready pod/web --timeout=120s")
    assert len(moorage_cluster.kubectl("get nodes -o json").json["items"]) == 2
    assert moorage_cluster.url not in SEEN
    SEEN.append(moorage_cluster.url)

def test_gates_are_off_by_default(moorage_cluster):
    from kubernetes import client
    core = client.CoreV1Api(moorage_cluster.api_client())
    assert len(core.list_node().items) == 3
    spec = {"containers": [{"name": "c", "image": "i"}], "tolerations": [{"key": "a", "operator": "Gt", "value": "1"}]}
    pod = {"metadata": {"name": "web"}, "spec": spec}
    with pytest.raises(client.ApiException, match="tolerations"):
        core.create_namespaced_pod("default", pod)
    del spec["tolerations"]
    core.create_namespaced_pod("default", pod)
    assert eventually(lambda: core.read_namespaced_pod("web", "default").spec.node_name)

def test_kubectl_that_fails_says_why(moorage_cluster):
    import moorage
    with pytest.raises(moorage.MoorageError, match="NotFound"):
        moorage_cluster.kubectl("get pod nobody")
    assert moorage_cluster.kubectl("get pod nobody", check=False).status == 1

def test_a_condition_that_never_holds():
    with pytest.raises(AssertionError, match="still not so after 0 seconds"):
        eventually(lambda: False, seconds=0)
'''


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run pytest as in a project that has installed moorage, whose entry points are in a folder of the path."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    points = "".join(f"{name} = {home}\n" for name, home in project["entry-points"]["pytest11"].items())
    installed = folder / "site" / "moorage_plugin-1.dist-info"
    installed.mkdir(parents=True, exist_ok=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: moorage-plugin\nVersion: 1\n")
    (installed / "entry_points.txt").write_text(f"[pytest11]\n{points}")
    path = os.pathsep.join([str(folder / "site"), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "--strict-markers", "-W", "error", "-p", "no:cacheprovider", *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        command, cwd=folder, env={**environment, "PYTHONPATH": path}, capture_output=True, text=True, timeout=600
    )


def test_a_project_with_the_fixture(tmp_path: Path) -> None:
    (tmp_path / "test_operator.py").write_text(TESTS)
    ran = run_pytest(tmp_path, "-n", "2")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "6 passed" in ran.stdout


def test_a_project_without_it_imports_next_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text(
        "import sys\n\ndef test_other():\n    assert 'moorage.testing.plugin' in sys.modules\n"
        "    assert not {name for name in sys.modules if name.startswith('moorage.')} - "
        "{'moorage.testing', 'moorage.testing.plugin'}\n    assert 'numpy' not in sys.modules\n"
    )
    ran = run_pytest(tmp_path)
    assert ran.returncode == 0, ran.stdout
    assert "moorage(**options)" in run_pytest(tmp_path, "--markers").stdout


def test_the_webhook_of_the_examples_passes_its_tests(tmp_path: Path) -> None:
    """They do not run in place, where Python would leave compiled files among the examples."""
    folder = tmp_path / "webhook"
    shutil.copytree(ROOT / "examples" / "match-label-keys-by-webhook", folder)
    ran = run_pytest(tmp_path, str(folder))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "2 passed" in ran.stdout


def blocks(language: str) -> list[str]:
    """Return the examples on the page that are files of a project."""
    page = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n((?:import pytest|\[pytest\])\n.*?)^```", page, re.MULTILINE | re.DOTALL)


def test_the_page_shows_tests_that_pass(tmp_path: Path) -> None:
    (setting,) = blocks("ini")
    first, shared, options = blocks("python")
    (tmp_path / "test_page.py").write_text(first)
    ran = run_pytest(tmp_path)
    assert ran.returncode == 0, ran.stdout
    (tmp_path / "test_page.py").write_text(shared)
    (tmp_path / "pytest.ini").write_text(setting)
    ran = run_pytest(tmp_path)
    assert ran.returncode == 0, ran.stdout
    (tmp_path / "conftest.py").write_text(options)
    ran = run_pytest(tmp_path, "--moorage-cluster-scope", "session", "-o", "addopts=")
    assert "with scope session the cluster is shared" in ran.stdout


URLS = """
import pytest

class TestOne:
    def test_a(self, moorage_cluster):
        print("URL a", moorage_cluster.url)
    def test_b(self, moorage_cluster):
        print("URL b", moorage_cluster.url)

def test_c(moorage_cluster):
    print("URL c", moorage_cluster.url)

def test_d(moorage_cluster):
    print("URL d", moorage_cluster.url, len(moorage_cluster.kubectl("get nodes -o json").json["items"]))
"""


@pytest.mark.parametrize(
    ("scope", "clusters"),
    [("function", "abcdefgh"), ("class", "aacdeegh"), ("module", "aaaaeeee"), ("session", "aaaaaaaa")],
)
def test_a_scope_says_which_tests_share_a_cluster(scope: str, clusters: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"test_{name}.py").write_text(URLS)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nmoorage_cluster_scope = {scope}\n")
    (tmp_path / "conftest.py").write_text(
        "import pytest\n\n@pytest.fixture(scope='session')\ndef moorage_cluster_options():\n    return {'nodes': 1}\n"
    )
    ran = run_pytest(tmp_path, "-s")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    urls = re.findall(r"URL \w (\S+)", ran.stdout)
    assert "".join("abcdefgh"[urls.index(url)] for url in urls) == clusters
    assert re.findall(r"URL d \S+ (\d)", ran.stdout) == ["1", "1"]


def test_a_shared_cluster_of_each_worker(tmp_path: Path) -> None:
    """With pytest-xdist a session is a worker's."""
    for name in ("one", "two", "three"):
        (tmp_path / f"test_{name}.py").write_text(URLS)
    ran = run_pytest(tmp_path, "-n", "2", "--moorage-cluster-scope", "session", "-rP")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert 1 <= len(set(re.findall(r"URL \w (\S+)", ran.stdout))) <= 2


def test_a_scope_that_does_not_exist_and_a_marker_without_effect_are_errors(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(
        "import pytest\n\n@pytest.mark.moorage(nodes=1)\ndef test_a(moorage_cluster): ...\n\n"
        "@pytest.mark.moorage(nodes=1)\nclass TestOne:\n    def test_b(self, moorage_cluster):\n"
        "        assert len(moorage_cluster.kubectl('get nodes -o name').out.split()) == 1\n"
    )
    ran = run_pytest(tmp_path, "-o", "moorage_cluster_scope=modul")
    assert ran.returncode == 4
    assert "there is no scope 'modul', only function, class, module" in ran.stderr
    ran = run_pytest(tmp_path, "--moorage-cluster-scope", "module")
    assert "the marker moorage of test_a has no effect: with scope module the cluster is shared" in ran.stdout
    assert "the marker moorage of TestOne has no effect" in ran.stdout
    ran = run_pytest(tmp_path, "--moorage-cluster-scope", "class")
    assert ran.returncode == 0, ran.stdout
