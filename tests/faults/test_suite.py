"""A few faults against a real cluster of processes, as `make test-faults` runs hundreds of them.

How long recovery takes is not asserted here: that says something about the machine, too.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: On a machine that has a lot else to do.
MOST_SECONDS = 500
ON_ETCD = (
    "etcd leader killed",
    "API server killed",
    "component killed",
    "connections reset",
)
ON_SQLITE = ("API server killed", "API server paused")
#: What each twin is found by, at least.
TWINS = {
    "stale": "linearizability",
    "overwriting": "lost update",
    "losing": "acknowledged write lost",
    "repeating": "applied twice|change without cause|lost update",
    "skipping": "watch skipped a change",
}


@pytest.mark.slow
@pytest.mark.parametrize("twin", TWINS)
def test_twins_that_are_broken_on_purpose_are_found(twin: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.faults", "3", "--twin", twin, "--out", str(tmp_path)]
    command += ["--seed", "14", "--kinds", "component killed"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=MOST_SECONDS)
    assert ran.returncode == 1, ran.stdout[-6000:] + ran.stderr[-6000:]
    assert re.search(f"VIOLATED .* times: ({TWINS[twin]})", ran.stdout), ran.stdout[-6000:]
    assert [path.name for path in tmp_path.glob("*.txt")] == ["seed-14-round-1.txt"]


@pytest.mark.parametrize(("store", "kinds"), [("etcd", ON_ETCD), ("sqlite", ON_SQLITE)], ids=["etcd", "sqlite"])
def test_nothing_is_violated_by_faults(store: str, kinds: tuple[str, ...], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.faults", str(len(kinds)), "--store", store, "--out", str(tmp_path)]
    command += ["--seed", "14", "--kinds", ",".join(kinds)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=MOST_SECONDS)
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-6000:]
    assert f"{len(kinds)} faults" in ran.stdout
    assert "no violation" in ran.stdout
