"""The plugin of `examples/plugin`, built and installed as users do it: plan, explain and a scheduler ask it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.e2e.kubectl import Kubectl
from tests.e2e.up_process import UpProcess

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "plugin"
CONFIG, CLUSTER = EXAMPLE / "scheduler.yaml", EXAMPLE / "cluster.yaml"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages in which the plugin is installed, metadata included."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(EXAMPLE, folder / "source")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=folder / "source", check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def moorage(*arguments: str | Path, site: Path | None = None) -> subprocess.CompletedProcess[str]:
    paths = (str(site or ""), os.environ.get("PYTHONPATH", ""))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    command = [sys.executable, "-m", "moorage", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_plan_counts_its_reason_and_follows_its_score(site: Path) -> None:
    made = moorage("plan", "--config", CONFIG, CLUSTER, site=site)
    assert (made.returncode, made.stderr) == (0, "")
    placed = [line.split() for line in made.stdout.splitlines()]
    assert ["small", "default/web"] in placed  # the cheapest; without the plugin, the largest
    assert ["medium", "default/report"] in placed
    assert "1 node(s) cost more than the pod allows" in " ".join(made.stdout.split())  # it is wrapped
    without = moorage("plan", CLUSTER, site=site)
    assert next(line.split() for line in without.stdout.splitlines() if "default/web" in line)[0] == "gpu"


def test_explain_names_the_inequality_and_the_score(site: Path) -> None:
    made = moorage("explain", "pod/train", "-f", CLUSTER, "--config", CONFIG, site=site)
    assert (made.returncode, made.stderr) == (0, "")
    assert "NodePrice: node(s) cost more than the pod allows" in made.stdout
    assert "example.com/hourly-price: 3.10 <= 0.50 is false" in made.stdout
    made = moorage("explain", "pod/web", "-f", CLUSTER, "--config", CONFIG, site=site)
    [row] = [line.split() for line in made.stdout.splitlines() if line.startswith("  NodePrice")]
    assert row == ["NodePrice", "×4", "388", "352", "0"]


def test_the_scheduler_of_a_cluster_asks_it(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(site), os.environ.get("PYTHONPATH", ""))))
    options = ("--ephemeral", "--nodes", "0", "--config", str(CONFIG), "--load", str(CLUSTER))
    with UpProcess(tmp_path, *options) as cluster:
        kubectl = Kubectl(cluster.kubeconfig, tmp_path)
        kubectl("wait --for=condition=PodScheduled=true pod/web pod/report --timeout=120s")
        kubectl("wait --for=condition=PodScheduled=false pod/train --timeout=120s")
        placed = kubectl("get pods --no-headers -o custom-columns=POD:.metadata.name,NODE:.spec.nodeName").lines
        assert [line.split() for line in placed] == [["report", "medium"], ["train", "<none>"], ["web", "small"]]
        assert "1 node(s) cost more than the pod allows" in kubectl("describe pod train").out


def test_without_the_package_the_name_does_not_exist() -> None:
    made = moorage("plan", "--config", CONFIG, CLUSTER)
    assert made.returncode == 2
    assert made.stdout == ""
    assert 'plugin "NodePrice" does not exist' in made.stderr
    assert "Traceback" not in made.stderr


def test_the_readme_shows_what_is_printed(site: Path) -> None:
    readme = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    made = moorage("explain", "pod/train", "-f", CLUSTER, "--config", CONFIG, site=site)
    shown = readme.partition("```console\n$ moorage explain pod/train")[2].partition("\n")[2].partition("```")[0]
    assert shown.strip()
    assert shown in made.stdout
