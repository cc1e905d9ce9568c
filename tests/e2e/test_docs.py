"""The pages tell the truth: captures are run again, no option, command, gate or plugin is left out, links lead on."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from tests.e2e.forked_command import forked_moorage
from tests.plugin_pages import plugin_pages

from moorage.model.gates import GATES

ROOT = Path(__file__).resolve().parents[2]
CAPTURED = {
    "README.md": 4,
    "docs/first-session.md": 3,
    "docs/plan.md": 6,
    "docs/explain.md": 6,
    "docs/lint.md": 3,
    "docs/gates.md": 2,
    "docs/devices.md": 1,
    "docs/attach.md": 3,
    "docs/policy.md": 2,
    "docs/capacity.md": 4,
    "docs/horizontal-autoscaling.md": 3,
}
#: Each command, and the page that has all of its options.
COMMANDS = {
    "lint": "docs/lint.md",
    "plan": "docs/plan.md",
    "explain": "docs/explain.md",
    "dump": "docs/command-line.md",
    "gates": "docs/gates.md",
    "policy": "docs/policy.md",
    "watch": "docs/watch.md",
    "dashboard": "docs/dashboard.md",
    "demo": "docs/demo.md",
    "attach": "docs/attach.md",
    "capacity": "docs/capacity.md",
    "up": "docs/up.md",
    "list": "docs/clusters.md",
    "stop": "docs/clusters.md",
    "delete": "docs/clusters.md",
    "kubeconfig": "docs/clusters.md",
    "logs": "docs/clusters.md",
    "snapshot": "docs/clusters.md",
    "store": "docs/store.md",
    "apiserver": "docs/api-server.md",
    "scheduler": "docs/scheduler.md",
    "controller-manager": "docs/controllers.md",
    "kubelet": "docs/kubelet.md",
    "roles": "docs/api-server.md",
    "completion": "docs/command-line.md",
    "help": "docs/command-line.md",
    "version": "docs/command-line.md",
}
#: Those that run until they are stopped; `test_docs_live` plays their sessions.
RUNNING = ("watch", "dashboard", "up", "apiserver", "scheduler", "controller-manager", "kubelet")


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def captures(page: str) -> list[tuple[str, str]]:
    """The commands of a page that can be run as they are, with what the page says they print."""
    found = re.findall(r"^```console\n\$ (moorage [^|\n]*)\n(.*?)^```", text_of(page), re.MULTILINE | re.DOTALL)
    return [(command, shown) for command, shown in found if shown and command.split()[1] not in RUNNING]


def moorage(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return forked_moorage(arguments, cwd=cwd)


@pytest.mark.parametrize(("page", "number"), CAPTURED.items())
def test_there_are_captures(page: str, number: int) -> None:
    assert len(captures(page)) == number


@pytest.mark.parametrize(
    ("page", "command", "shown"),
    [pytest.param(page, *pair, id=f"{page}: {pair[0]}") for page in CAPTURED for pair in captures(page)],
)
def test_a_capture_is_what_is_printed(page: str, command: str, shown: str, tmp_path: Path) -> None:
    for name, text in re.findall(r"^```yaml (\S+)\n(.*?)^```", text_of(page), re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = moorage(*shlex.split(command)[1:], cwd=tmp_path)
    assert (done.stdout, done.stderr) == (shown, "")


@pytest.mark.parametrize(
    "command",
    [
        *COMMANDS,
        "snapshot save",
        "snapshot restore",
        "gates audit",
        "store migrate",
        "attach convert",
        "attach policies",
        "attach install",
        "attach status",
        "attach uninstall",
        "attach webhook",
        "attach controller",
        "store check",
        "policy test",
        "policy explain",
        "capacity fit",
    ],
)
def test_every_option_is_on_its_page(command: str) -> None:
    told = moorage(*command.split(), "--help").stdout
    options = {
        option
        for line in re.findall(r"^  (?:-\w, )?(--[a-z-]+(?: / --[a-z-]+)?)", told, re.MULTILINE)
        for option in line.split(" / ")
    }
    page = text_of(COMMANDS[command.split()[0]])
    assert {option for option in options - {"--help", "--color"} if option not in page} == set()


def test_the_readme_has_every_command_and_gate() -> None:
    readme = text_of("README.md")
    listed = moorage("--help").stdout.split("Commands:")[1]
    assert set(re.findall(r"^  ([a-z][\w-]*)", listed, re.MULTILINE)) == set(COMMANDS)
    assert all(f"]({page})" in readme for page in COMMANDS.values())
    gates = text_of("docs/gates.md")
    assert all(f"`{gate.name}`" in readme or f"\n{gate.name} " in gates for gate in GATES)


def test_every_plugin_is_in_the_index() -> None:
    index = text_of("docs/plugins/README.md")
    assert all(f"({name})" in index for name in plugin_pages() if name != "README.md")


@pytest.mark.parametrize(
    "page", sorted(str(p.relative_to(ROOT)) for p in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
)
def test_links_lead_somewhere(page: str) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)", text_of(page))
    assert [target for target in targets if not ((ROOT / page).parent / target).exists()] == []
