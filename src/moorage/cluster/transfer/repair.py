"""Repair a store that is damaged: remove objects, go on without a lost end, restore a snapshot, or begin with nothing.

What is replaced is kept aside, in a folder of its own beside the new file. Revisions never go back: they go on above
all that was acknowledged, and history begins there, so that clients list again. Kubernetes: etcdutl's snapshot restore
with `--bump-revision`.
"""

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from moorage.cluster.automatic_snapshots import snapshots_in
from moorage.cluster.transfer.store_check import unreadable_keys
from moorage.cluster.transfer.store_content import TransferError, locked_directory, salvaged_content
from moorage.cluster.transfer.stored_values import stored_problem
from moorage.store.data_directory import FILE_NAME, SNAPSHOTS, StoreUnusable, write_problem
from moorage.store.salvage import Salvaged, keep_aside, salvage, write_database
from moorage.store.snapshot_file import SnapshotInfo, read_snapshot, restore_snapshot


class Repaired(NamedTuple):
    """What was done: the objects that are left, the revision, what was removed and mended, and where the rest is."""

    objects: int
    revision: int
    removed: list[str]
    mended: list[str]
    aside: Path | None


def repair_directory(
    path: Path, *, remove: Collection[str] = (), removes_damaged: bool = False, accepts_missing: bool = False
) -> Repaired:
    """Write the store of a directory again, without some objects. Raises TransferError, and changes nothing then."""
    with locked_directory(path), _as_transfer_errors(path):
        salvaged = salvage(path, stored_problem)
        wrong = unreadable_keys(salvaged_content(path, salvaged)) if removes_damaged else set()
        _refuse_unnamed(path, salvaged, set(remove), removes_damaged=removes_damaged, accepts_missing=accepts_missing)
        known = {row[1] for row in salvaged.rows} | {row.key for row in salvaged.damaged}
        if unknown := sorted(set(remove) - known):
            raise TransferError(f"there is no object {unknown[0]} in {path}: `moorage store check` shows the keys")
        if salvaged.is_sound and not remove and not wrong:
            raise TransferError(f"{path} is sound: there is nothing to repair")
        dropped = set(remove) | wrong
        rows = [row for row in salvaged.rows if row[1] not in dropped]
        kept = {row[1] for row in rows}
        removed = sorted({row.key for row in salvaged.damaged if row.key not in kept} | dropped)
        reached = salvaged.reached + 1
        aside = write_database(path / FILE_NAME, rows, reached, make_room=partial(keep_aside, path))
        return Repaired(len(rows), reached, removed, [row.key for row in salvaged.mended], aside)


def _refuse_unnamed(
    path: Path, salvaged: Salvaged, remove: Collection[str], *, removes_damaged: bool, accepts_missing: bool
) -> None:
    """Raise TransferError if something would be lost that was not named."""
    if salvaged.missing and not accepts_missing:
        raise TransferError(f"{salvaged.missing}: --accept-missing goes on without it, --restore-snapshot restores one")
    others = [row for row in salvaged.damaged if row.key not in remove]
    if (others or salvaged.problems) and not removes_damaged and not (accepts_missing and not others):
        what = str(others[0]) if others else salvaged.problems[0]
        raise TransferError(
            f"{path} would still be damaged: {what}. Name all damaged objects with --remove, or give --remove-damaged"
        )


def newest_snapshot(path: Path) -> Path:
    """Return the newest snapshot of a data directory that is whole. Raises TransferError."""
    problem = ""
    for file in reversed(snapshots_in(path)):
        try:
            read_snapshot(file)
        except StoreUnusable as error:
            problem = problem or f"; {error}"
        else:
            return file
    raise TransferError(f"there is no snapshot in {path / SNAPSHOTS}{problem}: name a file")


def restore_directory(path: Path, file: Path | None) -> tuple[Path, SnapshotInfo, Path | None]:
    """Restore a snapshot, or the newest, over a store; return which, and where the old files are.

    Raises TransferError.
    """
    with locked_directory(path), _as_transfer_errors(path):
        chosen = file or newest_snapshot(path)
        info = read_snapshot(chosen)
        after = salvage(path, stored_problem).reached + 1
        aside = restore_snapshot(chosen, path / FILE_NAME, after, partial(keep_aside, path))
        return chosen, info, aside


def begin_empty(path: Path) -> Repaired:
    """Begin with an empty store, above the revisions of the one that was there. Raises TransferError."""
    with locked_directory(path), _as_transfer_errors(path):
        reached = salvage(path, stored_problem).reached + 1
        aside = write_database(path / FILE_NAME, [], reached, make_room=partial(keep_aside, path))
        return Repaired(0, reached, [], [], aside)


@contextmanager
def _as_transfer_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (StoreUnusable, sqlite3.Error) as error:
        raise TransferError(str(error)) from None
    except OSError as error:
        raise TransferError(f"{error.filename or path} cannot be written: {write_problem(error)}") from None
