"""A log is followed through truncation and rotation, and characters that are cut in two stay whole."""

from collections.abc import Callable
from pathlib import Path

import pytest

from moorage.cluster.kept.log_reading import read_log


class _Enough(Exception):
    pass


def followed(path: Path, *steps: Callable[[], object]) -> str:
    """Return what is read while one step is taken at each pause."""
    left = list(steps)

    def pause(_seconds: float) -> None:
        if not left:
            raise _Enough
        left.pop(0)()

    pieces: list[str] = []
    with pytest.raises(_Enough):
        pieces.extend(read_log(path, follows=True, pause=pause))
    return "".join(pieces)


def append(path: Path, content: bytes) -> Callable[[], object]:
    def step() -> None:
        with path.open("ab") as file:
            file.write(content)

    return step


def test_a_log_is_read_once_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes("é\n".encode() * 50_000 + b"\xc3")
    assert "".join(read_log(path, follows=False)) == "é\n" * 50_000 + "�"
    with pytest.raises(FileNotFoundError):
        list(read_log(tmp_path / "absent", follows=False))


def test_a_followed_log_may_be_truncated_replaced_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("one\n")

    def rotate() -> None:
        append(path, b"last\n")()
        path.rename(tmp_path / "log.1")
        path.write_text("new\n")

    steps = [append(path, b"\xc3"), append(path, b"\xa9\n"), lambda: path.write_text("two\n"), rotate, path.unlink]
    assert followed(path, *steps) == "one\né\ntwo\nlast\nnew\n"
