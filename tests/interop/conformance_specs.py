"""Kubernetes' own Conformance specs: which there are, which need a container that runs, and how they are run.

Specs about the types in admission policies are run as well, though they are not in Conformance.

`needs_containers.txt` has the specs that are left out: paragraphs of a reason, indented by nothing, and the specs below
it, indented by two spaces.
"""

import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from tests.interop.binaries import E2E_TEST, KUBECTL, program

KEPT = Path(__file__).with_name("needs_containers.txt")
_SIGS = "api-machinery|apps|architecture|auth|cli|instrumentation|node|scheduling"
_TYPE_CHECKS = r"\[sig-api-machinery\] ValidatingAdmissionPolicy .* should type check "
CHOSEN = re.compile(rf"\[sig-(?:{_SIGS})\] .*\[Conformance\]|{_TYPE_CHECKS}")
_PASSED = "passed"


class Result(NamedTuple):
    """How a spec ended. `why` is empty if it passed."""

    spec: str
    state: str
    why: str

    @property
    def has_passed(self) -> bool:
        return self.state == _PASSED


def left_out() -> dict[str, str]:
    """Return the specs that are not run, each with its reason."""
    reasons: dict[str, str] = {}
    reason = ""
    for line in KEPT.read_text().splitlines():
        if line.startswith("  "):
            reasons[line.strip()] = reason
        elif line and not line.startswith("#"):
            reason = line
    return reasons


def all_specs(directory: Path) -> list[str]:
    """Return the Conformance specs of the groups that Moorage answers for, as the program lists them."""
    results = _run(directory / "listed", rf"\[Conformance\]|{_TYPE_CHECKS}", "-ginkgo.dry-run")
    return sorted(result.spec for result in results if CHOSEN.match(result.spec))


def start_specs(directory: Path, kubeconfig: Path, specs: list[str]) -> "subprocess.Popen[bytes]":
    """Start the program for these specs. Read what came of it with `results_in`."""
    directory.mkdir()
    options = (f"-kubeconfig={kubeconfig}", f"-kubectl-path={program(KUBECTL)}", "-minStartupPods=0")
    focus = "|".join(map(re.escape, specs))
    with (directory / "e2e.log").open("wb") as log:
        return subprocess.Popen(_command(directory, focus, *options), stdout=log, stderr=log, cwd=directory)


def results_in(directory: Path) -> list[Result]:
    """Return the results of the specs that were run, without those that the focus left out."""
    (suite,) = msgspec.json.decode((directory / "report.json").read_bytes())
    return [_result(report) for report in suite["SpecReports"] if _was_chosen(report)]


def _run(directory: Path, focus: str, *options: str) -> list[Result]:
    directory.mkdir()
    subprocess.run(_command(directory, focus, *options), capture_output=True, check=True, cwd=directory)
    return results_in(directory)


def _command(directory: Path, focus: str, *options: str) -> list[str]:
    report = ("-ginkgo.v", "-ginkgo.no-color", f"-ginkgo.json-report={directory / 'report.json'}")
    return [program(E2E_TEST), "-provider=skeleton", f"-ginkgo.focus={focus}", "-ginkgo.timeout=3h", *report, *options]


def _was_chosen(report: dict[str, Any]) -> bool:
    return report["LeafNodeType"] == "It" and (report["State"] != "skipped" or bool(report.get("Failure")))


def _result(report: dict[str, Any]) -> Result:
    spec = " ".join([*(report["ContainerHierarchyTexts"] or []), report["LeafNodeText"]])
    return Result(spec, report["State"], (report.get("Failure") or {}).get("Message", ""))
