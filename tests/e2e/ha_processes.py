"""The processes of a `moorage up --ha`: which there are, which lead, what they wrote.

In: the number of the supervisor. Out: numbers of its children, by what they are.
"""

import re
from pathlib import Path
from typing import NamedTuple

_MEMBER = re.compile(r"--name=(etcd-\d+)")
_ACQUIRED = re.compile(r"^I\d+ (\S+) +(\d+) .*\"Successfully acquired lease\"", re.MULTILINE)


class Child(NamedTuple):
    """One process: `kind` is `etcd`, `apiserver`, `scheduler`, `controller-manager` or `kubelet`."""

    pid: int
    kind: str
    command: tuple[str, ...]


def children_of(pid: int) -> list[Child]:
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text().rpartition(")")[2].split()
            command = tuple((entry / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")[:-1])
        except OSError:
            continue
        if int(stat[1]) == pid and stat[0] not in "ZX" and (kind := _kind(command)):
            found.append(Child(int(entry.name), kind, command))
    return sorted(found)


def _kind(command: tuple[str, ...]) -> str:
    if any(_MEMBER.match(word) for word in command):
        return "etcd"
    return command[command.index("moorage") + 1] if "moorage" in command[:-1] else ""


def directory_of(children: list[Child]) -> Path:
    """The directory of the cluster, from the options of an API server."""
    server = next(child for child in children if child.kind == "apiserver")
    return Path(server.command[server.command.index("--cert-dir") + 1]).parent


def leader(directory: Path, kind: str) -> int:
    """The process that was the last to get the Lease of a component; 0 if none has it yet."""
    got = [
        (time, int(pid))
        for log in (directory / "logs").glob(f"{kind}-*.log")
        for time, pid in _ACQUIRED.findall(log.read_text())
    ]
    return max(got)[1] if got else 0


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
