"""Clusters by name and by directory: what they are called, and the commands that name them."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from moorage.cli.commands.kept.clusters import kubeconfig, list_clusters, stop
from moorage.cli.commands.processes.apiserver import apiserver
from moorage.cli.commands.up import command
from moorage.client.kubeconfig.access import KubeconfigError
from moorage.client.kubeconfig.loading import load_access
from moorage.cluster.kept.kept_cluster import KeptCluster
from moorage.cluster.kept.places import DESCRIPTION_FILE


def test_commands_name_a_cluster_as_the_user_does() -> None:
    named, placed = KeptCluster("dev", Path("/data/dev")), KeptCluster("", Path("/my data"))
    assert (named.up_command, named.stop_command) == ("moorage up --name dev", "moorage stop dev")
    assert placed.up_command == "moorage up --data-dir '/my data'"
    assert placed.stop_command == "moorage stop --data-dir '/my data'"
    assert (named.capital_title, placed.capital_title) == ("Cluster dev", "The cluster in /my data")


def test_the_kubeconfig_of_a_cluster_in_a_directory_is_made_by_starting_that_cluster(tmp_path: Path) -> None:
    (tmp_path / DESCRIPTION_FILE).write_text("{}")
    ran = CliRunner().invoke(kubeconfig, ["--data-dir", str(tmp_path)])
    assert ran.exit_code == 1
    assert f"`moorage up --data-dir {tmp_path}` starts it" in ran.output


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a user without a home directory, as in many containers."""

    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", home)
    for variable in ("KUBECONFIG", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.usefixtures("homeless")
@pytest.mark.parametrize("clusters", [list_clusters, stop, command, apiserver], ids=lambda one: str(one.name))
def test_without_a_home_directory_clusters_need_a_data_dir(clusters: click.Command) -> None:
    ran = CliRunner().invoke(clusters, [])
    assert ran.exit_code in (1, 2)
    assert "there is no home directory to keep clusters in: set $HOME or $XDG_" in ran.output


@pytest.mark.usefixtures("homeless")
def test_without_a_home_directory_a_cluster_is_found_by_its_directory(tmp_path: Path) -> None:
    ran = CliRunner().invoke(kubeconfig, ["--data-dir", str(tmp_path)])
    assert (ran.exit_code, ran.output) == (1, f"moorage: there is no cluster in {tmp_path}\n")


@pytest.mark.usefixtures("homeless")
def test_without_a_home_directory_a_pod_reaches_its_own_cluster(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret")
    (tmp_path / "ca.crt").write_text("")
    inside = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    assert load_access(environment=inside, service_account=tmp_path).server == "https://10.96.0.1:443"
    with pytest.raises(KubeconfigError, match="there is no home directory"):
        load_access(environment={})
