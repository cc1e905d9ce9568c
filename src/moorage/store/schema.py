"""What the file looks like, and how one of an older release becomes one of this.

In: a connection. Out: the same with the newest schema, or `StoreUnusable` if a newer release, or another program,
wrote the file. The version is SQLite's `user_version`; step n of `MIGRATIONS` leads from version n to n + 1, in one
transaction, and an empty file is version 0.
"""

import sqlite3
from collections.abc import Callable, Sequence

from moorage.store.directory import StoreUnusable

#: "moor": tells a file of ours from any other SQLite file.
APPLICATION_ID = 0x6D6F6F72

Migration = Callable[[sqlite3.Connection], None]


def _first_schema(connection: sqlite3.Connection) -> None:
    # One row per write that is still needed. A deletion has no value. Revisions only grow, so rows are always appended.
    connection.execute(
        "CREATE TABLE log (revision INTEGER PRIMARY KEY, key TEXT NOT NULL, created INTEGER NOT NULL, value BLOB)"
    )
    # To which revision each part's history is let go ("all": that of all), and under "reached" the highest revision as
    # of the last time rows were removed: the log may have forgotten it. Names of parts are empty or end in a slash.
    connection.execute("CREATE TABLE marks (name TEXT PRIMARY KEY, revision INTEGER NOT NULL) WITHOUT ROWID")


MIGRATIONS: tuple[Migration, ...] = (_first_schema,)


def migrate(connection: sqlite3.Connection, name: str, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    version = _number(connection, "user_version")
    owner = _number(connection, "application_id")
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if (owner or tables) and owner != APPLICATION_ID:
        raise StoreUnusable(f"{name} is not a file of Moorage's: it was written by another program")
    if version > len(migrations):
        raise StoreUnusable(
            f"{name} was written by a newer release (data format {version}, this one knows up to {len(migrations)}): "
            "use that release, or another data directory"
        )
    for step in range(version, len(migrations)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            migrations[step](connection)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {step + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
