"""`moorage store`: what it prints, its exit codes, and what it says of a wrong command line."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.etcd_process import EtcdCluster, etcd_cluster
from tests.unit.cluster.transfer.stored_clusters import config_map, items_at, make_directory, many, namespace

from moorage.cli.main import moorage

ALL_WELL = [namespace("default"), *many(9)]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(moorage, ["store", *arguments])


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    with etcd_cluster(tmp_path_factory.mktemp("etcd")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def secure_etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    with etcd_cluster(tmp_path_factory.mktemp("etcd"), certificates=True) as cluster:
        yield cluster


def test_there_and_back(etcd: EtcdCluster, tmp_path: Path) -> None:
    source = str(make_directory(tmp_path / "data", items_at(*ALL_WELL, first=20), reached=99))
    url, prefix = etcd.urls[0], ("--etcd-prefix", "/there")
    there = run("migrate", source, url, *prefix)
    assert (there.exit_code, there.stderr) == (0, "")
    assert there.stdout == f"Moved 10 objects to {url}, with their resourceVersions. The store is at revision 100.\n"
    again = run("migrate", source, url, *prefix)
    assert (again.exit_code, again.stdout) == (1, "")
    assert again.stderr.startswith(f"moorage: {url} has 10 objects under /there already; nothing is written: ")
    forced = run("migrate", source, url, *prefix, "--force")
    assert "10 of them with a new resourceVersion" in forced.stdout
    assert run("check", "--etcd-servers", url, *prefix).stdout.endswith(": all is well.\n")
    back = run("migrate", url, str(tmp_path / "back"), *prefix)
    assert back.stdout.startswith(f"Moved 10 objects to {tmp_path / 'back'}, with their resourceVersions. ")
    assert run("check", str(tmp_path / "back")).stdout.startswith("10 objects at revision ")


def test_certificates(secure_etcd: EtcdCluster, tmp_path: Path) -> None:
    source = str(make_directory(tmp_path / "data", items_at(*ALL_WELL)))
    files = secure_etcd.certificates
    assert files is not None
    trust = ["--etcd-cafile", str(files.ca)]
    login = ["--etcd-certfile", str(files.client), "--etcd-keyfile", str(files.client_key)]
    assert run("migrate", source, secure_etcd.urls[0], *trust, *login).exit_code == 0
    assert run("check", "--etcd-servers", secure_etcd.urls[0], *trust, *login).exit_code == 0
    for missing in (login, trust):
        refused = run("check", "--etcd-servers", secure_etcd.urls[0], *missing)
        assert refused.exit_code == 1
        assert refused.stderr.startswith("moorage: ")
        assert len(refused.stderr.splitlines()) == 1


def test_findings(tmp_path: Path) -> None:
    items = [namespace("default"), config_map("a", metadata={"uid": ""}), ("/configmaps/gone/b", b"{\x1b[31m")]
    path = make_directory(tmp_path / "data", items_at(*items))
    found = run("check", str(path))
    assert found.exit_code == 1
    assert found.stdout.splitlines() == [
        "error: /configmaps/default/a has no uid",
        "error: /configmaps/gone/b is not JSON with metadata",
        "3 objects at revision 4: 2 errors, 0 notes.",
    ]
    document = json.loads(run("check", str(path), "-o", "json").stdout)
    assert document["findings"][0] == {"level": "error", "key": "/configmaps/default/a", "problem": "has no uid"}
    assert (document["objects"], document["revision"], document["roots"]["/configmaps/"]) == (3, 4, 2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check",), "Name a data directory, or --etcd-servers."),
        (("check", "d", "--etcd-servers", "http://a:1"), "Name a data directory, or --etcd-servers."),
        (("check", "--etcd-servers", "a:1"), "'a:1' is no URL such as https://10.0.0.1:2379"),
        (("check", "d", "--etcd-cafile", "f"), "The options of etcd need --etcd-servers."),
        (("migrate", "a", "b"), "One of SOURCE and TARGET is a data directory, the other the URLs of etcd."),
        (("migrate", "http://a:1", "https://b:1"), "One of SOURCE and TARGET is a data directory"),
        (("migrate", "http://a:1", "d", "--renumber"), "--renumber is for moving objects into etcd"),
        (("migrate", "d", "http://a:1,b"), "'b' is no URL such as"),
        (("migrate", "d", "http://a:1", "--etcd-certfile", "c"), "--etcd-certfile and --etcd-keyfile belong together."),
        (("migrate", "d", "http://a:1", "--etcd-username", "c"), "--etcd-username and --etcd-password-file belong"),
    ],
)
def test_wrong_command_lines(arguments: tuple[str, ...], said: str) -> None:
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert said in refused.stderr


def test_nothing_is_made_of_a_wrong_path(tmp_path: Path) -> None:
    refused = run("check", str(tmp_path / "none"))
    assert refused.exit_code == 1
    assert refused.stderr == (
        f"moorage: there is no cluster in {tmp_path / 'none'}: it has no file moorage.db (`moorage list` shows where)\n"
    )
    assert not (tmp_path / "none").exists()


def test_checking_the_directory_of_an_ha_cluster_points_to_its_etcd(tmp_path: Path) -> None:
    (tmp_path / "ha.json").write_text("{}")
    refused = run("check", str(tmp_path))
    assert refused.exit_code == 1
    assert "is a cluster of `moorage up --ha`, whose objects are in its etcd" in refused.stderr


def test_an_unreachable_etcd_is_reported_in_one_line() -> None:
    refused = run("check", "--etcd-servers", "http://127.0.0.1:1")
    assert refused.exit_code == 1
    assert refused.stderr == "moorage: http://127.0.0.1:1: connection refused: does etcd run there?\n"
