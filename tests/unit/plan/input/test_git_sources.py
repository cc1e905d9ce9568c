"""Manifests of git revisions."""

import os
import subprocess
from pathlib import Path

import pytest

from moorage.plan.input import git_sources as module
from moorage.plan.input.git_sources import GitError, git_sources, is_revision

AUTHOR = {f"GIT_{role}_{part}": "a@example.com" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}


def git(*arguments: str) -> None:
    environment = {**os.environ, **AUTHOR, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", *arguments], check=True, capture_output=True, env=environment)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits; the work tree differs from both."""
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main", ".")
    for name in ("deploy/b.yaml", "deploy/a/x.yml", "deploy/.hidden.yaml", "deploy/read.me", "root.json", "ü ö.yaml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n", encoding="utf-8")
    (tmp_path / "deploy/link.yaml").symlink_to("b.yaml")
    git("add", "-A")
    git("commit", "-qm", "one")
    (tmp_path / "deploy/b.yaml").write_text("# second\n", encoding="utf-8")
    git("commit", "-qam", "two")
    (tmp_path / "deploy/b.yaml").write_text("# not committed\n", encoding="utf-8")
    return tmp_path


def read(text: str) -> dict[str, bytes | None]:
    return {source.name: source.content for source in git_sources(text)}


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        ("main:deploy/b.yaml", {"main:deploy/b.yaml": b"# second\n"}),
        (
            "main~1:deploy",
            {"main~1:deploy/a/x.yml": b"# deploy/a/x.yml\n", "main~1:deploy/b.yaml": b"# deploy/b.yaml\n"},
        ),
        ("main:deploy/a/", {"main:deploy/a/x.yml": b"# deploy/a/x.yml\n"}),
        ("main:deploy/read.me", {"main:deploy/read.me": b"# deploy/read.me\n"}),
        ("main:root.json", {"main:root.json": b"# root.json\n"}),
        ("main:ü ö.yaml", {"main:ü ö.yaml": "# ü ö.yaml\n".encode()}),
    ],
)
def test_files_and_directories_of_a_revision(repository: Path, text: str, contents: dict[str, bytes]) -> None:
    assert read(text) == contents


def test_whole_revision_in_the_order_of_names(repository: Path) -> None:
    assert list(read("HEAD:")) == ["HEAD:deploy/a/x.yml", "HEAD:deploy/b.yaml", "HEAD:root.json", "HEAD:ü ö.yaml"]


def test_paths_begin_at_the_root_or_here(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository / "deploy")
    assert list(read("main:./b.yaml")) == ["main:./b.yaml"]
    assert list(read("main:deploy/b.yaml")) == ["main:deploy/b.yaml"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nope:deploy", "there is no git revision 'nope' in "),
        ("main:gone/", "revision 'main' has no 'gone'"),
        ("--output=x:deploy", "'--output=x' is not a git revision"),
        ("main^{blob}:deploy", "expected blob type"),
    ],
)
def test_errors_name_what_is_missing(repository: Path, text: str, reason: str) -> None:
    with pytest.raises(GitError, match=reason.replace("^", r"\^").replace("{", r"\{")):
        git_sources(text)


def test_missing_path_may_be_allowed_and_a_missing_revision_not(repository: Path) -> None:
    assert git_sources("main:gone", allows_absent=True) == []
    with pytest.raises(GitError):
        git_sources("nope:deploy", allows_absent=True)


def test_outside_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(GitError, match="not a git repository"):
        git_sources("main:deploy")


def test_without_git(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))
    with pytest.raises(GitError, match="git is not installed"):
        git_sources("main:deploy")


@pytest.mark.parametrize(("name", "value", "reason"), [("MAX_FILES", 1, "2 manifests"), ("MAX_BYTES", 5, "bytes of")])
def test_size_is_bounded(repository: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: int, reason: str) -> None:
    monkeypatch.setattr(module, name, value)
    with pytest.raises(GitError, match=reason):
        git_sources("main:deploy")


def test_git_that_hangs_has_a_deadline(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*arguments: object, **options: object) -> None:
        raise subprocess.TimeoutExpired("git", 60)

    monkeypatch.setattr(subprocess, "run", hang)
    with pytest.raises(GitError, match="has not answered within 60 s"):
        git_sources("main:deploy")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("main:deploy", True), ("main:", True), (":deploy", False), ("deploy", False), ("-", False), ("a:b.yaml", False)],
)
def test_existing_files_are_no_revisions(repository: Path, text: str, expected: bool) -> None:
    (repository / "a:b.yaml").touch()
    assert is_revision(text) is expected
