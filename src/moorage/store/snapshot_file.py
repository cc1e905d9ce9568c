"""A snapshot: a store's file with a table that says what it is, and a digest by which damage is found.

It is written beside its place and then renamed, so that a file that exists is whole. Kubernetes: etcdctl's snapshot
save and etcdutl's snapshot restore.
"""

import hashlib
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from moorage.store.data_directory import MARK_NAME, SIDE_FILES, StoreUnusable, sync, write_problem
from moorage.store.high_water import MarkUnreadable, read_mark
from moorage.store.log_file import ALL_PARTS, APPLICATION_ID, MIGRATIONS, REACHED, LogFile
from moorage.store.partition import Forgotten
from moorage.store.salvage import put_in_place
from moorage.store.state import FIRST_REVISION

_TABLE = "CREATE TABLE snapshot (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
_NEEDED = ("description", "digest", "release", "taken")


class SnapshotInfo(NamedTuple):
    """What a snapshot says of itself. `description` is the cluster's, as JSON; `taken` is in RFC 3339."""

    revision: int
    objects: int
    release: str
    taken: str
    description: str


def write_snapshot(path: Path, fill: Callable[[Path], None], *, release: str, taken: str, description: str) -> None:
    """Make a snapshot of the file that `fill` writes at the path it is given. Raises StoreUnusable, OSError."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        os.close(_new_file(unfinished))
        fill(unfinished)
        with closing(_opened(unfinished, "rw")) as connection:
            connection.execute("DROP TABLE IF EXISTS snapshot")
            connection.execute(_TABLE)
            said = {"description": description, "release": release, "taken": taken, "digest": _digest(connection)}
            connection.executemany("INSERT INTO snapshot VALUES (?, ?)", said.items())
            connection.commit()
        sync(unfinished)
        unfinished.replace(path)
        sync(path.parent)
    except sqlite3.Error as error:
        raise StoreUnusable(f"{path} cannot be written: {write_problem(error)}") from None
    finally:
        unfinished.unlink(missing_ok=True)


def read_snapshot(path: Path) -> SnapshotInfo:
    """Check a snapshot and return what it says of itself. Raises StoreUnusable."""
    if not path.is_file():
        raise StoreUnusable(f"{path}: {'is not a file' if path.exists() else 'No such file'}")
    try:
        with closing(_opened(path, "ro")) as connection:
            if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                raise StoreUnusable(f"{path} is not a snapshot of Moorage's")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            said = dict(connection.execute("SELECT name, value FROM snapshot")) if "snapshot" in tables else {}
            if version > len(MIGRATIONS):
                raise StoreUnusable(
                    f"{path} was taken by a newer release ({said.get('release', 'unknown')}; data format {version}, "
                    f"this one knows up to {len(MIGRATIONS)}): restore it with that release"
                )
            if any(name not in said for name in _NEEDED):
                raise StoreUnusable(f"{path} is a store's file and not a snapshot: `moorage snapshot save` takes one")
            if said["digest"] != _digest(connection):
                raise StoreUnusable(f"{path} is damaged: its objects are not those that were saved")
            return SnapshotInfo(
                _reached(connection), _count(connection), said["release"], said["taken"], said["description"]
            )
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise StoreUnusable(f"{path} is not a snapshot of Moorage's, or it is damaged: {error}") from None


def revision_of(path: Path) -> int:
    """Return the revision that a store's file has reached, 0 for one without objects. Raises StoreUnusable."""
    if not path.exists() or not path.stat().st_size:
        return marked_revision(path)
    with closing(LogFile(path)) as file:
        file.verify()
        reached = max(file.last_revision(), marked_revision(path))
    return reached if reached > FIRST_REVISION else 0


def marked_revision(path: Path) -> int:
    """Return the revision that the mark beside a store's file has; 0 without a mark, or for one that cannot be read."""
    with suppress(MarkUnreadable, OSError):
        mark = read_mark(path.with_name(MARK_NAME))
        return mark.revision if mark is not None else 0
    return 0


def restore_snapshot(
    snapshot: Path, database: Path, after: int, make_room: Callable[[], Path | None] = lambda: None
) -> Path | None:
    """Put the objects of a checked snapshot in the place of a store's file, which is not in use.

    Revisions go on from the snapshot's, or from `after` if that is higher: what was watched at a revision that the
    snapshot never had is listed again. For `make_room` see `write_database`. Raises StoreUnusable, OSError.
    """
    unfinished = database.with_name(f".{database.name}.{secrets.token_hex(4)}")
    try:
        with snapshot.open("rb") as source, os.fdopen(_new_file(unfinished), "wb") as target:
            shutil.copyfileobj(source, target, 1024 * 1024)
        with closing(_opened(unfinished, "rw")) as connection:
            connection.execute("DROP TABLE snapshot")
            connection.commit()
        with closing(LogFile(unfinished)) as file:
            if after > file.last_revision():
                file.forget([Forgotten(ALL_PARTS, after, [])], after)
        sync(unfinished)
        aside = make_room()
        put_in_place(unfinished, database)
        return aside
    except sqlite3.Error as error:
        raise StoreUnusable(f"{database} cannot be written: {write_problem(error)}") from None
    finally:
        with suppress(OSError):
            for suffix in ("", *SIDE_FILES):
                unfinished.with_name(f"{unfinished.name}{suffix}").unlink(missing_ok=True)


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    fixed = "&immutable=1" if mode == "ro" else ""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}{fixed}", uri=True)


def _reached(connection: sqlite3.Connection) -> int:
    (last,) = connection.execute("SELECT max(revision) FROM log").fetchone()
    (mark,) = connection.execute("SELECT max(revision) FROM marks WHERE name = ?", (REACHED,)).fetchone()
    return max(last or 0, mark or 0)


def _count(connection: sqlite3.Connection) -> int:
    """Return how many objects there are: keys whose last row is not a deletion."""
    newest = "SELECT value IS NOT NULL AS lives, max(revision) FROM log GROUP BY key"
    (count,) = connection.execute(f"SELECT count(*) FROM ({newest}) WHERE lives").fetchone()
    return int(count)


def _digest(connection: sqlite3.Connection) -> str:
    digest = hashlib.sha256()
    for query in ("SELECT * FROM log ORDER BY revision", "SELECT * FROM marks ORDER BY name"):
        for row in connection.execute(query):
            digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _new_file(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
