"""Finds the machine's kubectl ($KUBECTL, or in the PATH) and runs it with a home and a kubeconfig of its own."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from moorage.demo.story import Ran

#: Older ones check fields themselves, against a description of the API that is no longer served.
OLDEST = (1, 27)
_SECONDS = 60
_KEPT = ("PATH", "TMPDIR", "LANG", "SYSTEMROOT")


class NoKubectl(Exception):
    """Why the real one cannot be used."""


def find_kubectl(named: str = "") -> str:
    """The program to run. Raises NoKubectl."""
    wanted = named or os.environ.get("KUBECTL") or "kubectl"
    program = shutil.which(wanted)
    if program is None:
        raise NoKubectl("there is no kubectl in the PATH" if wanted == "kubectl" else f"there is no {wanted}")
    try:
        said = subprocess.run(
            [program, "version", "--client", "--output", "json"], capture_output=True, text=True, timeout=_SECONDS
        )
        version = json.loads(said.stdout)["clientVersion"]
        found = (int(version["major"]), int(version["minor"].rstrip("+")))
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError, AttributeError):
        raise NoKubectl(f"{program} does not say which version it is") from None
    if found < OLDEST:
        raise NoKubectl(f"{program} is version {found[0]}.{found[1]}, and {OLDEST[0]}.{OLDEST[1]} or newer is needed")
    return program


class Kubectl:
    """Runs commands as one types them."""

    def __init__(self, program: str, kubeconfig: Path, home: Path, folder: Path) -> None:
        self._program, self._folder = program, folder
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        self._environment = {**kept, "HOME": str(home), "KUBECONFIG": str(kubeconfig), "KUBECTL_KUBERC": "false"}

    def run(self, words: list[str], stdin: str = "") -> Ran:
        try:
            ran = subprocess.run(
                [self._program, *words],
                cwd=self._folder,
                env=self._environment,
                input=stdin,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return Ran(1, "", f"kubectl did not end within {_SECONDS} s\n")
        except OSError as error:
            return Ran(1, "", f"kubectl cannot be run: {error.strerror}\n")
        return Ran(ran.returncode, ran.stdout, ran.stderr)
