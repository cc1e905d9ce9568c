"""Find out what this machine allows, and give each etcd member a network and a disk of its own where it does.

The whole run is in namespaces of its own (network, mounts, processes): what it cuts, fills and kills is its own, and
all of it is gone when the run ends, however it ends.
"""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

_INSIDE = "MOORAGE_FAULTS_INSIDE"
_NET = "10.77.0"
#: The address of the run's own side of the bridge.
HUB = f"{_NET}.1"
#: Memory is taken for what is on it only.
DISK_MEGABYTES = 4096


def enter_namespaces() -> None:
    """Run this command again in namespaces of its own, if the machine allows it. Returns if not, or inside."""
    if os.environ.get(_INSIDE) is not None or shutil.which("unshare") is None:
        return
    wall = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*wall, "true"], capture_output=True).returncode:
        return
    os.environ[_INSIDE] = "yes"
    arguments = [*wall, sys.executable, "-m", "tests.faults", *sys.argv[1:]]
    os.execvp(arguments[0], arguments)


def is_inside() -> bool:
    return os.environ.get(_INSIDE) == "yes"


def run(*command: str) -> bool:
    return subprocess.run(command, capture_output=True).returncode == 0


class Machine:
    """What there is. Each `why_no_…` is empty if it can be done, else the reason."""

    def __init__(self) -> None:
        alone = "" if is_inside() else "needs namespaces of its own (root, unshare)"
        self.why_no_network = alone or self._make_bridge()
        self.why_no_disk = alone or ("" if shutil.which("mount") else "needs mount")
        self.why_no_slow_disk = "" if self._can_trace() else "needs strace, and the right to trace"
        self.clock_library = find_clock_library()
        self.why_no_clock = "" if self.clock_library else "needs libfaketime (pip install libfaketime, or Debian's)"

    def _make_bridge(self) -> str:
        made = run("ip", "link", "set", "lo", "up") and run("ip", "link", "add", "hub", "type", "bridge")
        made = made and run("ip", "addr", "add", f"{HUB}/24", "dev", "hub") and run("ip", "link", "set", "hub", "up")
        if made:  # names of namespaces are mounts under /run: hidden from the machine, and gone with this run
            Path("/run/netns").mkdir(exist_ok=True)
            made = run("mount", "-t", "tmpfs", "none", "/run/netns")
        return "" if made else "needs ip, with bridges and namespaces"

    def _can_trace(self) -> bool:
        return bool(shutil.which("strace")) and run("strace", "-o", "/dev/null", "-e", "trace=fsync", "true")

    def make_network(self, number: int) -> tuple[str, list[str]]:
        """Make a network namespace, and return its address and the command that runs another one inside it."""
        name, address = f"etcd-{number}", f"{_NET}.{number + 10}"
        steps = (
            ("ip", "netns", "add", name),
            ("ip", "link", "add", f"v{number}", "type", "veth", "peer", "name", "eth0", "netns", name),
            ("ip", "link", "set", f"v{number}", "master", "hub", "up"),
            ("ip", "-n", name, "addr", "add", f"{address}/24", "dev", "eth0"),
            ("ip", "-n", name, "link", "set", "eth0", "up"),
            ("ip", "-n", name, "link", "set", "lo", "up"),
        )
        for step in steps:
            subprocess.run(step, check=True, capture_output=True)
        return address, ["nsenter", f"--net=/run/netns/{name}"]

    def mount_disk(self, path: Path) -> None:
        path.mkdir(parents=True)
        command = ("mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m", "none", str(path))
        subprocess.run(command, check=True, capture_output=True)


def unplug(number: int) -> None:
    """Lose every packet to and from a member."""
    run("ip", "link", "set", f"v{number}", "down")


def plug_in(number: int) -> None:
    run("ip", "link", "set", f"v{number}", "up")


def throttle(number: int, rate: str) -> bool:
    """Let no more than a rate through to a member, such as 200kbit; what is too much waits or is lost."""
    return run(
        *("tc", "qdisc", "replace", "dev", f"v{number}", "root", "tbf"),
        *("rate", rate, "burst", "8kb", "latency", "300ms"),
    )


def unthrottle(number: int) -> None:
    run("tc", "qdisc", "del", "dev", f"v{number}", "root")


def fill(path: Path) -> None:
    """Leave no room on a disk: make it as small as what is on it, which may grow while we look."""
    for _ in range(100):
        found = os.statvfs(path)
        if _resize(path, f"{(found.f_blocks - found.f_bfree) * found.f_frsize // 1024}k"):
            return
    raise AssertionError(f"{path} cannot be made small")


def make_room(path: Path) -> None:
    for broken in path.glob("**/*.broken"):  # etcd keeps what it repairs, a whole file each time
        broken.unlink()
    assert _resize(path, f"{DISK_MEGABYTES}m"), path


def _resize(path: Path, size: str) -> bool:
    return run("mount", "-o", f"remount,size={size}", str(path))


class SlowDisk:
    """Delay every sync of a process to disk, by tracing it."""

    def __init__(self, pid: int, milliseconds: int) -> None:
        calls = "fsync,fdatasync,sync_file_range,msync"
        how = f"inject={calls}:delay_enter={milliseconds * 1000}"
        command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", "-e", how, "-p", str(pid)]
        self._tracer = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def end(self) -> None:
        self._tracer.send_signal(signal.SIGINT)
        try:
            self._tracer.wait(5)
        except subprocess.TimeoutExpired:
            self._tracer.kill()
            self._tracer.wait()


def find_clock_library() -> str:
    """Return the path of libfaketime, which sets the time of day of programs that are linked dynamically; or nothing.

    It is loaded into Python's processes. Programs in Go, such as etcd, ask the kernel directly: their time of day
    cannot be set without setting the machine's.
    """
    found = os.environ.get("MOORAGE_FAKETIME", "")
    places = [Path(found)] if found else []
    spec = importlib.util.find_spec("libfaketime")
    if spec is not None and spec.submodule_search_locations:
        places += [Path(place) / "vendor/libfaketime/src/libfaketime.so.1" for place in spec.submodule_search_locations]
    places += Path("/usr/lib").glob("*/faketime/libfaketime.so.1")
    return next((str(place) for place in places if place.exists() and _sets_clocks(place)), "")


def _sets_clocks(library: Path) -> bool:
    """Try it: it may be made for another machine."""
    environment = {**os.environ, "LD_PRELOAD": str(library), "FAKETIME": "+1000000s"}
    command = [sys.executable, "-c", "import time; print(time.time())"]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True).stdout
    return bool(shown) and float(shown) > time.time() + 900_000


class Clock:
    """The time of day of one process, which can be stepped. Its monotonic clock is left alone."""

    def __init__(self, library: str, path: Path) -> None:
        self.path = path
        self.environment = {
            "LD_PRELOAD": library,
            "FAKETIME_TIMESTAMP_FILE": str(path),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        self.step(0.0)

    def step(self, seconds: float) -> None:
        """Let the clock be so many seconds off."""
        new = self.path.with_suffix(".new")
        new.write_text(f"{seconds:+.3f}s\n")
        new.replace(self.path)
