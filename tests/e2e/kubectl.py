"""kubectl for tests: the real program, with a home of its own.

In: arguments, as one types them. Out: what it printed and its exit status. It is the one that $KUBECTL names, or that
is in PATH, or that `make test` has installed beside this Python (see `install_kubectl`).
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

TIMEOUT_SECONDS = 240
#: A kubectl that ends soon need not collect garbage, nor start a thread for each core: a third less CPU time.
BRIEF = {"GOGC": "off", "GOMAXPROCS": "1"}


def kubectl_program() -> str:
    named = os.environ.get("KUBECTL") or shutil.which("kubectl")
    beside = Path(sys.executable).with_name("kubectl")
    if named is None and not beside.exists():
        raise FileNotFoundError(f"no kubectl: set KUBECTL, or run python3 tests/e2e/install_kubectl.py {beside}")
    return named or str(beside)


class Ran(NamedTuple):
    """What one call of kubectl came to."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def rows(self) -> list[list[str]]:
        """The printed table without its head, split at runs of two blanks or more: cells may have single ones."""
        return [[cell for cell in line.strip().split("  ") if cell] for line in self.lines[1:]]


class Kubectl:
    """One user's kubectl: a kubeconfig, a namespace (or ""), a home in which it keeps its caches."""

    def __init__(self, kubeconfig: Path, home: Path, namespace: str = "default") -> None:
        self.kubeconfig, self.home, self.namespace = kubeconfig, home, namespace
        self._program = kubectl_program()

    def environment(self, **more: str) -> dict[str, str]:
        # Nothing of the machine's own clusters may be reached, and nothing of its settings may change what is printed.
        kept = {name: os.environ[name] for name in ("PATH", "TMPDIR", "LANG") if name in os.environ}
        ours = {"HOME": str(self.home), "KUBECONFIG": str(self.kubeconfig), "KUBE_EDITOR": "false"}
        return {**kept, **BRIEF, **ours, **more}

    def command(self, arguments: str) -> list[str]:
        namespace = ("--namespace", self.namespace) if self.namespace else ()
        return [self._program, *namespace, *shlex.split(arguments)]

    def run(self, arguments: str, stdin: str = "", **environment: str) -> Ran:
        """Run it, whatever it comes to."""
        ran = subprocess.run(
            self.command(arguments),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            env=self.environment(**environment),
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def __call__(self, arguments: str, stdin: str = "", **environment: str) -> Ran:
        """Run it; it must succeed."""
        ran = self.run(arguments, stdin, **environment)
        assert ran.status == 0, f"kubectl {arguments}\n{ran.err}{ran.out}"
        return ran

    def fails(self, arguments: str, stdin: str = "", **environment: str) -> str:
        """Run it; it must fail. Returns what it complained about."""
        ran = self.run(arguments, stdin, **environment)
        assert ran.status != 0, f"kubectl {arguments} should have failed\n{ran.out}"
        return ran.err

    def start(self, arguments: str) -> "subprocess.Popen[str]":
        """Run it beside the test: for `-w`, which ends when it is told to."""
        return subprocess.Popen(
            self.command(arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
            env=self.environment(),
        )
