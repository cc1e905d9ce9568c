"""Read `deploy/`: command lines of systemd units and static manifests, with the values of a machine."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
UNITS = {path.stem: path for path in sorted((ROOT / "deploy" / "systemd").glob("*.service"))}
MANIFESTS = {path.stem: path for path in sorted((ROOT / "deploy" / "manifests").glob("*.yaml"))}
COMPONENTS = ("apiserver", "controller-manager", "scheduler")
_SPLIT = re.compile(r"^\$(\w+)$")


def sections_of(unit: Path) -> dict[str, dict[str, list[str]]]:
    """Return the sections of a unit file: each key with all of its values."""
    found: dict[str, dict[str, list[str]]] = {}
    text = unit.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            section.setdefault(name, []).append(value)
    return found


def environment_file() -> dict[str, str]:
    lines = (ROOT / "deploy" / "systemd" / "moorage.env").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def unit_command(name: str, environment: Mapping[str, str]) -> list[str]:
    """Return the command of a unit, with variables replaced as systemd does: `$NAME` alone becomes several words."""
    (line,) = sections_of(UNITS[name])["Service"]["ExecStart"]
    words: list[str] = []
    for word in shlex.split(line):
        if several := _SPLIT.match(word):
            words += shlex.split(environment[several[1]])
        else:
            words.append(re.sub(r"\$\{(\w+)\}", lambda found: environment[found[1]], word))
    return words


def manifest(name: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(MANIFESTS[name].read_text(encoding="utf-8"))
    return document


def manifest_command(name: str, environment: Mapping[str, str]) -> list[str]:
    """Return the command of a static pod, with variables replaced as the kubelet does."""
    (container,) = manifest(name)["spec"]["containers"]
    given = {one["name"] for one in container.get("env", ())}

    def value(found: re.Match[str]) -> str:
        assert found[1] in given, f"{found[0]} is not in env"
        return environment[found[1]]

    return [re.sub(r"\$\((\w+)\)", value, word) for word in container.get("command") or container["args"]]
