"""Files, directories, standard input: which sources, in which order."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from moorage.lint.sources import Source, sources_of


def make(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")


def names_of(*paths: Path) -> list[str]:
    return [source.name for source in sources_of([str(path) for path in paths])]


def test_directories_are_searched_in_the_order_of_names(tmp_path: Path) -> None:
    make(tmp_path, "b.yml", "a.yaml", "c/z.JSON", "c/a.json", "d.txt", ".hidden.yaml", ".git/x.yaml", "yaml")
    expected = [str(tmp_path / name) for name in ("a.yaml", "b.yml", "c/a.json", "c/z.JSON")]
    assert names_of(tmp_path) == expected
    assert names_of(tmp_path / "c", tmp_path / "d.txt") == [*expected[2:], str(tmp_path / "d.txt")]


def test_what_is_named_is_read_whatever_its_name(tmp_path: Path) -> None:
    make(tmp_path, ".hidden", ".dir/a.yaml")
    assert names_of(tmp_path / ".hidden", tmp_path / ".dir") == [
        str(tmp_path / ".hidden"),
        str(tmp_path / ".dir/a.yaml"),
    ]
    (given, found) = sources_of([str(tmp_path / ".hidden"), str(tmp_path / ".dir")])
    assert given.explicit
    assert not found.explicit


def test_standard_input() -> None:
    assert list(sources_of(["-"])) == [Source("<stdin>")]


def test_loops_end(tmp_path: Path) -> None:
    make(tmp_path, "a/b/x.yaml")
    (tmp_path / "a/b/up").symlink_to(tmp_path / "a")
    (tmp_path / "a/self").symlink_to(".")
    assert names_of(tmp_path) == [str(tmp_path / "a/b/x.yaml")]


def test_links_to_files_and_directories_are_followed(tmp_path: Path) -> None:
    make(tmp_path, "real/x.yaml")
    make(tmp_path, "in/other.txt")
    (tmp_path / "in/dir").symlink_to(tmp_path / "real")
    (tmp_path / "in/link.yaml").symlink_to(tmp_path / "real/x.yaml")
    (tmp_path / "in/broken.yaml").symlink_to(tmp_path / "gone")
    assert names_of(tmp_path / "in") == [str(tmp_path / "in/dir/x.yaml"), str(tmp_path / "in/link.yaml")]


def test_very_deep_directories_are_a_problem_not_a_crash(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(210):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (source,) = sources_of([str(tmp_path)])
    assert source.problem == "more than 200 directories deep"


def test_a_directory_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a/x.yaml", "b.yaml")
    scandir = os.scandir

    def refusing(path: str) -> Any:
        if path.endswith("/a"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    first, second = sources_of([str(tmp_path)])
    assert first.problem == "Permission denied"
    assert second.name.endswith("b.yaml")


def test_pipes_in_directories_are_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    assert names_of(tmp_path) == []
    assert names_of(tmp_path / "pipe.yaml") == [str(tmp_path / "pipe.yaml")]
