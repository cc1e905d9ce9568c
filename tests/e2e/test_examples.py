"""Every example does what its README says: accepted with its gate, and refused, or not, without it.

The READMEs are read by machine: the rows `gate`, `run`, `test`, `findings` and `with the gate off` of their table, and
their links.
"""

from __future__ import annotations

import json
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.forked_command import forked_moorage

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
FOLDERS = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir() and path.name not in ("plugin", "cluster"))

REFUSALS = {"unreadable", "not-an-object", "unserved-version", "unknown-field", "duplicate-field", "rejected"}


def facts_of(folder: str) -> dict[str, str]:
    text = (EXAMPLES / folder / "README.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| (gate|run|test|findings|with the gate off) \| (.+) \|$", text, re.MULTILINE))


def gates_of(folder: str) -> list[str]:
    """The gates that an example needs, the one it is about last."""
    return re.findall(r"`(\w+)`", facts_of(folder)["gate"])


def findings_of(*arguments: str) -> list[dict[str, Any]]:
    process = forked_moorage([*arguments, "--output", "json"], cwd=ROOT)
    assert process.returncode in (0, 1), process.stderr
    findings: list[dict[str, Any]] = json.loads(process.stdout)["findings"]
    assert process.returncode == int(bool(findings))
    return findings


@cache
def folders_refused_without(gate: str) -> set[str]:
    """The folders in which something is refused when every gate is on but this one."""
    gates = f"--feature-gates=AllAlpha=true,AllBeta=true,{gate}=false"
    findings = findings_of("lint", gates, "examples")
    return {Path(finding["file"]).parts[1] for finding in findings if finding["rule"] == "rejected"}


@pytest.mark.parametrize("folder", FOLDERS)
def test_an_example_is_accepted_with_its_gate_and_has_the_findings_it_names(folder: str) -> None:
    kind = facts_of(folder)
    command = shlex.split(kind["run"].strip("`"))
    gates = ",".join(f"{gate}=true" for gate in gates_of(folder))
    assert command == ["moorage", "lint", f"--feature-gates={gates}", f"examples/{folder}"]
    found = {finding["rule"] for finding in findings_of(*command[1:])}
    assert not found & REFUSALS
    assert found == set(re.findall(r"\[`([a-z-]+)`\]", kind["findings"]))


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if (EXAMPLES / folder / "cases.yaml").exists()])
def test_the_policies_of_an_example_pass_their_cases(folder: str) -> None:
    [command] = re.findall(r"`(moorage policy test .+?)`", facts_of(folder)["test"])
    judged = forked_moorage([*shlex.split(command)[1:], "--output", "json"], cwd=ROOT)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    [suite] = json.loads(judged.stdout)["suites"]
    assert len(suite["cases"]) > 3


@pytest.mark.parametrize("folder", FOLDERS)
def test_an_example_without_its_gate_fares_as_its_readme_says(folder: str) -> None:
    kind = facts_of(folder)
    refused = folder in folders_refused_without(gates_of(folder)[-1])
    assert refused == (kind["with the gate off"] == "rejected")


def test_the_index_lists_every_folder_with_its_gate() -> None:
    index = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[([a-z0-9-]+)\]\(([^)]+)\) \| .+ \| (`\w+`(?:, `\w+`)*) \|$", index, re.MULTILINE)
    assert sorted(rows) == [(folder, f"{folder}/README.md", facts_of(folder)["gate"]) for folder in FOLDERS]


@pytest.mark.parametrize("readme", [".", "cluster", *FOLDERS])
def test_every_link_of_a_readme_leads_somewhere(readme: str) -> None:
    text = (EXAMPLES / readme / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#]+)\)", text)
    assert [target for target in targets if not (EXAMPLES / readme / target).exists()] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_and_object_a_readme_names_is_there(folder: str) -> None:
    text = (EXAMPLES / folder / "README.md").read_text(encoding="utf-8")
    files = {path.name: path.read_text(encoding="utf-8") for path in (EXAMPLES / folder).glob("*.yaml")}
    assert files
    assert set(re.findall(r"`([\w-]+\.yaml)`", text)) <= files.keys()
    names = {document["metadata"]["name"] for content in files.values() for document in yaml.safe_load_all(content)}
    # The first cell of a table's row, if it is a name, is that of a node or a workload.
    assert set(re.findall(r"^\| `([a-z0-9-]+)`", text, re.MULTILINE)) <= names
