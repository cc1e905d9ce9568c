"""Clusters by name and by directory: what they are called, and the commands that name them."""

from pathlib import Path

from click.testing import CliRunner

from moorage.cli.commands.clusters import kubeconfig
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
