"""A full disk: what cannot be written fails and leaves no trace; the store goes on when there is room again."""

import subprocess
import sys
from pathlib import Path


def test_a_full_disk_fails_writes_and_nothing_else(tmp_path: Path) -> None:
    child = Path(__file__).with_name("full_disk_child.py")
    done = subprocess.run(
        [sys.executable, str(child), str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("all as it should be\n", "", 0)
