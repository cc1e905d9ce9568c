"""The runbooks do what they say: every command in them is run, and prints what they show."""

import re
import shlex
from pathlib import Path

import click
import pytest
from tests.e2e.gates.features import FEATURES, LABEL_KEYS
from tests.e2e.gates.runbook_session import Session, commands_of
from tests.e2e.test_docs_live import said

from moorage.cli.main import moorage
from moorage.model.gates import GATES
from moorage.plan.gates.audit import order_of_disabling

ROOT = Path(__file__).resolve().parents[3]
RUNBOOKS = ROOT / "docs" / "runbooks"
NAMES = [*(feature.gate for feature in FEATURES), LABEL_KEYS]
#: Runbooks of tasks, not of gates.
TASKS = ("DrainDriverVersion",)
#: What every runbook of a gate tells.
SECTIONS = ("What each component does", "Enable", "Observe", "Disable", "Roll back")
#: By component: the command that runs it.
PROCESSES = {
    "kube-apiserver": "apiserver",
    "kube-scheduler": "scheduler",
    "kube-controller-manager": "controller-manager",
    "kubelet": "kubelet",
}


def text_of(name: str) -> str:
    return (RUNBOOKS / f"{name}.md").read_text(encoding="utf-8")


def section(name: str, title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text_of(name), re.MULTILINE | re.DOTALL)
    assert found is not None, f"{name} has no section {title}"
    return found[1]


#: Their sessions differ from the first one's by little: they are played with the long runs.
LATER = ("TaintTolerationNodeAffinitySemverComparisonOperators", "TaintTolerationCEL")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LATER else []) for name in (*NAMES, *TASKS)]
)
def test_a_runbook_is_what_happens(name: str, tmp_path: Path) -> None:
    for step in Session(text_of(name), tmp_path).play():
        if step.shown.strip():
            assert said(step.printed, tmp_path) == said(step.shown), step.command
        else:
            assert step.status == 0, f"{step.command}\n{step.printed}"


def test_every_gate_has_a_runbook() -> None:
    assert sorted(page.stem for page in RUNBOOKS.glob("*.md")) == sorted(["README", *NAMES, *TASKS])
    index = text_of("README")
    assert all(f"({name}.md)" in index for name in (*NAMES, *TASKS))


@pytest.mark.parametrize("name", NAMES)
def test_a_runbook_has_all_sections_and_asks_before_it_disables(name: str) -> None:
    text = text_of(name)
    assert [title for title in re.findall(r"^## (.*)$", text, re.MULTILINE) if title in SECTIONS] == list(SECTIONS)
    commands = [command for command, _ in commands_of(section(name, "Disable"))]
    first = next(number for number, one in enumerate(commands) if one.startswith("moorage gates audit"))
    disabling = next(number for number, one in enumerate(commands) if f"{name}=false" in one)
    assert first < disabling


@pytest.mark.parametrize("name", NAMES)
def test_processes_are_restarted_in_the_order_of_the_audit(name: str) -> None:
    gate = next(gate for gate in GATES if gate.name == name)
    order = [PROCESSES[component.value] for component in order_of_disabling(gate)]
    assert processes(section(name, "Disable"), f"{name}=false") == order
    assert processes(section(name, "Enable"), f"{name}=true") == order[::-1]


def processes(text: str, setting: str) -> list[str]:
    """The components in the commands for processes of their own, each of which the command line takes."""
    found: list[str] = []
    for block in re.findall(r"^```shell\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            program, name, *arguments = shlex.split(line)
            assert program == "moorage"
            command = moorage.get_command(click.Context(moorage), name)
            assert command is not None
            command.make_context(name, list(arguments))  # complains about what it does not know
            assert f"--feature-gates={setting}" in arguments
            found.append(name)
    return found
