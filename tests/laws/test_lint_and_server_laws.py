"""Lint refuses exactly what the API server refuses, in its words: documents, and the pods of workloads."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from io import BytesIO

from hypothesis import given, settings
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.random_faults import faulty_worlds
from tests.laws.random_worlds import Dimension, World, worlds
from tests.laws.world_in_cluster import refusals_in_cluster
from tests.laws.world_picture import absent_objects, subject_of
from tests.unit.plan.planning import Raw

from moorage.lint.catalogue import rules
from moorage.lint.engine import Linter
from moorage.lint.finding import Finding, Severity
from moorage.lint.sources import Source

#: Objects that exist are not admitted again; which of several pods a quota refuses is a matter of time.
DIMENSIONS = frozenset(Dimension) - {Dimension.RUNNING_PODS, Dimension.UNREADY_NODES}
_ACCEPTED = re.compile(r"the \w+ is accepted, but its pods will be refused: ")


def findings_of(world: World) -> list[Finding]:
    text = "\n---\n".join(map(json.dumps, world.documents)).encode()
    checker = Linter(world.gates, frozenset(rules()))
    return [*checker.lint(Source("world.yaml"), BytesIO(text)), *checker.finish()]


def refusing(findings: list[Finding]) -> Iterator[Finding]:
    """Yield the findings that say what the API server says when it refuses an object of the input itself."""
    for finding in findings:
        if finding.api_server and finding.severity is Severity.ERROR and not _ACCEPTED.match(finding.message):
            yield finding


def lint_refusals(world: World) -> dict[str, str]:
    refusals: dict[str, list[str]] = {}
    for finding in refusing(findings_of(world)):
        refusals.setdefault(finding.place.object, []).append(finding.message)
    return {subject: ", ".join(messages) for subject, messages in refusals.items()}


def lint_refused_pods(world: World) -> dict[str, str]:
    """Return why the pods of workloads will be refused, by workload, but for quotas: those let some of them in."""
    return {
        finding.place.object: _ACCEPTED.sub("", finding.message)
        for finding in findings_of(world)
        if _ACCEPTED.match(finding.message)
    }


def server_refused_pods(world: World) -> dict[str, str]:
    """Return what controllers were told when they wanted to create pods, but for quotas."""
    refused = {}
    for workload, message in refusals_in_cluster(world).pods:
        why = message.partition(" is forbidden: ")[2] or in_words_of_lint(message)
        if "exceeded quota" not in why and "failed quota" not in why:
            refused[workload.replace("ReplicaSet", "Deployment").removesuffix("-…")] = why
    return refused


def needed_objects(document: Raw) -> Iterator[str]:
    """Yield the namespace and the PriorityClass that an object or its pods need: `namespace gone`."""
    yield f"namespace {document['metadata'].get('namespace')}"
    spec = document.get("spec") or {}
    for pods in (spec, (spec.get("template") or {}).get("spec") or {}):
        if isinstance(pods, dict) and pods.get("priorityClassName"):
            yield f"PriorityClass {pods['priorityClassName']}"


def with_pods(world: World) -> World:
    """Return a world in which every workload wants pods: without any, none is refused."""
    documents = []
    for one in world.documents:
        if one["kind"] == "Node":
            documents.append({**one, "spec": {}})
        elif one.get("spec", {}).get("replicas") == 0:
            documents.append({**one, "spec": {**one["spec"], "replicas": 1}})
        else:
            documents.append(one)
    return world._replace(documents=documents)


def in_words_of_lint(message: str) -> str:
    """Return a refusal without the name of the object, which a finding has beside its message, if it is invalid."""
    _, is_invalid, errors = message.partition(" is invalid: ")
    if not is_invalid:
        return message
    return errors[1:-1] if errors.startswith("[") and errors.endswith("]") else errors


def law_of_refusals(lint: Callable[[World], dict[str, str]]) -> None:
    @settings(LAW_SETTINGS, max_examples=examples(100))
    @given(faulty_worlds(DIMENSIONS))
    def law(world: World) -> None:
        refusals = refusals_in_cluster(world)
        refused, findings = refusals.documents, findings_of(world)
        # Of an object that is invalid anyway, lint does not tell what else is wrong.
        accepted = [one for one in world.documents if subject_of(one) not in refused]
        needed = {name for one in accepted for name in needed_objects(one)}
        absent = Counter({name: count for name, count in refusals.absent.items() if name in needed})
        noted = absent_objects(finding.message for finding in findings)
        idle = {name for name in noted if name.startswith("PriorityClass") and name not in absent}
        assert Counter({name: count for name, count in noted.items() if name not in idle}) == absent
        assert lint(world) == {subject: in_words_of_lint(message) for subject, message in refused.items()}

    law()


def law_of_refused_pods(lint: Callable[[World], dict[str, str]]) -> None:
    @settings(LAW_SETTINGS, max_examples=examples(100))
    @given(worlds(frozenset({Dimension.LIMIT_RANGES, Dimension.POD_SECURITY, Dimension.PRIORITIES, Dimension.JOBS})))
    def law(drawn: World) -> None:
        world = with_pods(drawn)
        assert lint(world) == server_refused_pods(world)

    law()


def test_lint_foresees_which_pods_of_workloads_are_refused() -> None:
    law_of_refused_pods(lint_refused_pods)


def test_a_linter_without_pod_security_is_noticed() -> None:
    def careless(world: World) -> dict[str, str]:
        without = [one for one in world.documents if one["kind"] != "Namespace"]
        return lint_refused_pods(world._replace(documents=without))

    assert_notices(lambda: law_of_refused_pods(careless))


def test_lint_refuses_what_the_api_server_refuses() -> None:
    law_of_refusals(lint_refusals)


def test_a_linter_without_limit_ranges_is_noticed() -> None:
    def careless(world: World) -> dict[str, str]:
        return lint_refusals(world._replace(documents=[one for one in world.documents if one["kind"] != "LimitRange"]))

    assert_notices(lambda: law_of_refusals(careless))
