"""Sends Ctrl-C to `moorage` at random moments of its first half second, and counts how it ends.

    python -m tests.e2e.random_interrupts [COUNT] [SECONDS]

A traceback that does not name moorage is Python's own, from before our first line; all others, and signals that are
lost, are mistakes: the exit code is then 1.
"""

import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

COMMANDS = {
    "lint": ["lint", "pod.yaml"],
    "plan": ["plan", "pod.yaml"],
    "explain": ["explain", "pod/web", "-f", "pod.yaml"],
    "gates": ["gates", "audit", "pod.yaml"],
    "demo": ["demo", "spot-nodes-by-sla"],
    "up": ["up", "--ephemeral", "--port", "0", "--nodes", "1"],
}
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: a, image: b}]\n"
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: node}\nstatus: {allocatable: {cpu: 4, memory: 4Gi, pods: 9}}\n"
MANY_SECONDS = 60


def write_manifest(folder: Path) -> None:
    (folder / "pod.yaml").write_text(f"{POD}---\n{NODE}", encoding="utf-8")


def interrupt_after(seconds: float, arguments: list[str], folder: Path) -> tuple[str, str]:
    """How the command ended, and what it said."""
    with subprocess.Popen(
        [sys.executable, "-m", "moorage", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        try:
            said = process.communicate(timeout=MANY_SECONDS)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            return "lost", process.communicate()[1]
    if "Traceback" in said:
        return ("traceback" if "moorage" in said else "before our first line"), said
    return f"quiet, exit code {process.returncode}", said


def main(count: int = 400, window: float = 0.5) -> int:
    mistakes = 0
    with tempfile.TemporaryDirectory() as folder:
        write_manifest(Path(folder))
        for name, arguments in COMMANDS.items():
            ends: Counter[str] = Counter()
            for _ in range(count // len(COMMANDS)):
                end, said = interrupt_after(random.uniform(0, window), arguments, Path(folder))
                ends[end] += 1
                if end in ("lost", "traceback"):
                    mistakes += 1
                    print(said)
            print(name, dict(ends))
    return int(mistakes > 0)


if __name__ == "__main__":
    sys.exit(main(*(kind(text) for kind, text in zip((int, float), sys.argv[1:], strict=False))))
