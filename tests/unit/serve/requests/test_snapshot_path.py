"""The copy of a store that `moorage snapshot save` fetches: for administrators, and never cut off without notice."""

import errno
from pathlib import Path

import pytest

from moorage.model.api_error import ApiError
from moorage.serve.http.messages import Request, Response, Stream
from moorage.serve.pki.authentication import ADMIN, ANONYMOUS
from moorage.serve.requests.web_paths import DESCRIPTION_PATH, SNAPSHOT_PATH, SnapshotSource
from moorage.store.data_directory import write_problem
from moorage.store.memory import MemoryStore
from moorage.store.protocol import StoreFailed


@pytest.mark.real_time
async def test_a_copy_is_whole_also_when_the_server_stops(tmp_path: Path) -> None:
    answer = await SnapshotSource(MemoryStore(), tmp_path).answer(Request("GET", SNAPSHOT_PATH, user=ADMIN))
    assert isinstance(answer, Stream)
    assert answer.is_whole  # else a stopping server would end it as if it were complete
    content = b"".join([chunk async for chunk in answer.chunks])
    assert content.startswith(b"SQLite format 3\0")
    assert list(tmp_path.iterdir()) == []


async def test_copies_and_descriptions_are_for_administrators(tmp_path: Path) -> None:
    source = SnapshotSource(MemoryStore(), tmp_path)
    answer = await source.answer(Request("GET", DESCRIPTION_PATH, user=ADMIN))
    assert isinstance(answer, Response)
    assert answer.body == b"{}"
    for path, user, code in (
        (SNAPSHOT_PATH, ANONYMOUS, 403),
        (DESCRIPTION_PATH, None, 403),
        (f"{SNAPSHOT_PATH}/x", ADMIN, 404),
    ):
        with pytest.raises(ApiError) as refused:
            await source.answer(Request("GET", path, user=user))
        assert refused.value.code == code


async def test_a_full_disk_is_named_before_the_answer_begins(tmp_path: Path) -> None:
    class Full(MemoryStore):
        async def copy(self, path: Path) -> None:
            raise StoreFailed(f"the copy could not be made: {write_problem(OSError(errno.ENOSPC, 'x'))}")

    with pytest.raises(ApiError) as refused:
        await SnapshotSource(Full(), tmp_path).answer(Request("GET", SNAPSHOT_PATH, user=ADMIN))
    assert "the disk is full: no space left on device" in refused.value.message
    assert str(tmp_path) in refused.value.message
    assert list(tmp_path.iterdir()) == []
