"""Save a cluster, running or stopped, to a file and restore it: all objects as of one revision, and its options.

A running cluster is asked for a copy, and goes on meanwhile; the file of a stopped one is read under its lock.
Certificates and tokens are no part of a snapshot.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec

from moorage import __version__
from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.access import Access, KubeconfigError
from moorage.client.kubeconfig.loading import load_access
from moorage.client.protocol import Unreachable
from moorage.cluster.kept.description import (
    Description,
    DescriptionError,
    parse_description,
    read_description,
    write_description,
)
from moorage.cluster.kept.kept_cluster import KeptCluster
from moorage.cluster.transfer.stored_values import SIBLINGS, stored_problem
from moorage.model.api_error import ApiError
from moorage.model.go.times import time_text
from moorage.serve.requests.web_paths import DESCRIPTION_PATH, SNAPSHOT_PATH
from moorage.store.data_directory import FILE_NAME, DataDirectory, StoreUnusable, write_problem
from moorage.store.opening import open_log_file
from moorage.store.snapshot_file import (
    SnapshotInfo,
    marked_revision,
    read_snapshot,
    restore_snapshot,
    revision_of,
    write_snapshot,
)

_MAX_BYTES = 16 * 1024**3
_SECONDS = 900.0


class SnapshotError(Exception):
    """Why a snapshot is not saved or restored: one line for the user."""


def save_cluster(cluster: KeptCluster, file: Path, *, force: bool = False) -> SnapshotInfo:
    """Save a cluster of this user. Raises SnapshotError."""
    running = cluster.process
    if running is None:
        return _save_stopped(cluster, file, force=force)
    if not running.url:
        raise SnapshotError(f"{cluster.title} is still starting: try again when it is ready")
    try:
        access = load_access(str(cluster.kubeconfig), context=cluster.context)
    except KubeconfigError as error:
        raise SnapshotError(str(error)) from None
    return save_running(access, file, force=force)


def save_running(access: Access, file: Path, *, force: bool = False) -> SnapshotInfo:
    """Save the cluster of an API server. Raises SnapshotError."""
    try:
        description, copy = asyncio.run(_fetch(access))
    except KubeconfigError as error:
        raise SnapshotError(str(error)) from None
    except Unreachable as error:
        raise SnapshotError(f"the API server cannot be reached: {error}") from None
    except ApiError as error:
        is_other = error.code == 404
        why = "it is not one of Moorage's" if is_other else error.message
        raise SnapshotError(f"{access.server} gives no snapshot: {why}") from None
    return _write(file, lambda path: _fill(path, copy), description, force=force)


async def _fetch(access: Access) -> tuple[str, bytes]:
    client = HttpClient(access, "snapshot", max_answer_bytes=_MAX_BYTES, request_seconds=_SECONDS)
    try:
        description = await client.get_path(DESCRIPTION_PATH)
        return description.decode(), await client.get_path(SNAPSHOT_PATH)
    finally:
        await client.close()


def _fill(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)


def _save_stopped(cluster: KeptCluster, file: Path, *, force: bool) -> SnapshotInfo:
    database = cluster.directory / FILE_NAME
    if not database.is_file():
        raise SnapshotError(f"{cluster.title} has no objects: it was never ready, or keeps nothing")
    described = cluster.described or Description(name=cluster.name)

    def fill(path: Path) -> None:
        path.unlink()  # SQLite makes it
        log.verify()
        log.copy_to(path)
        path.chmod(0o600)

    try:
        with (
            closing(DataDirectory(cluster.directory)) as directory,
            closing(open_log_file(directory, check=stored_problem, siblings=SIBLINGS)) as log,
        ):
            return _write(file, fill, msgspec.json.encode(described).decode(), force=force)
    except StoreUnusable as error:
        raise SnapshotError(str(error)) from None


def _write(file: Path, fill: Callable[[Path], None], description: str, *, force: bool) -> SnapshotInfo:
    if file.exists() and not (force and file.is_file()):
        raise SnapshotError(f"{file} exists already; it is left as it is: name another file, or give --force")
    taken = time_text(time.time())
    try:
        write_snapshot(file, fill, release=__version__, taken=taken, description=description)
        return read_snapshot(file)
    except StoreUnusable as error:
        raise SnapshotError(str(error)) from None
    except OSError as error:
        raise SnapshotError(f"{file} cannot be written: {write_problem(error)}") from None


def restore_cluster(file: Path, cluster: KeptCluster, *, force: bool = False) -> SnapshotInfo:
    """Restore a snapshot as this cluster, which is not running; with `force` over its objects. Raises SnapshotError."""
    running = cluster.process
    if running is not None:
        raise SnapshotError(f"{cluster.title} is running (pid {running.pid}); stop it first")
    try:
        info = read_snapshot(file)
        description = parse_description(info.description.encode(), f"the description in {file}")
        with closing(DataDirectory(cluster.directory)) as directory:
            database = directory.path / FILE_NAME
            reached = _reached(database, force=force)
            if reached and not force:
                raise SnapshotError(
                    f"{cluster.title} has objects already, in {cluster.directory}: choose another name, or give "
                    "--force to replace them"
                )
            restore_snapshot(file, database, reached)
            write_description(directory.path, _description(description, directory.path, cluster.name))
    except (StoreUnusable, DescriptionError) as error:
        raise SnapshotError(str(error)) from None
    except OSError as error:
        raise SnapshotError(
            f"{error.filename or cluster.directory} cannot be written: {write_problem(error)}"
        ) from None
    return info


def _reached(database: Path, *, force: bool) -> int:
    """Return the revision of what is there; of what cannot be read, and is to be replaced, nothing is known."""
    try:
        return revision_of(database)
    except StoreUnusable:
        if not force:
            raise
        return marked_revision(database)


def _description(description: Description, directory: Path, name: str) -> Description:
    """Return what the snapshot's cluster was told, for a cluster with a place and contexts of its own."""
    try:
        here = read_description(directory)
    except DescriptionError:
        here = None
    options = {name: value for name, value in description.options.items() if name not in ("kubeconfig", "port")}
    kept = {} if here is None else {name: here.options[name] for name in ("kubeconfig", "port") if name in here.options}
    return msgspec.structs.replace(
        description,
        name=name,
        options={**options, **kept},
        contexts=here.contexts if here is not None else (),
        port=here.port if here is not None else 0,
        ephemeral=False,
    )
