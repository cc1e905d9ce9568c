"""Pods that LimitRanges and ResourceQuotas of the input refuse, and RuntimeClasses that are not there."""

from tests.unit.lint.linting import lint, pod, stream, workload

from moorage.lint.finding import Finding, Severity

RANGE = """apiVersion: v1
kind: LimitRange
metadata: {name: l}
spec: {limits: [{type: Container, max: {cpu: "2"}, defaultRequest: {cpu: 500m}}]}
"""
GREEDY = "  initContainers: [{name: i, image: i, resources: {requests: {cpu: '3'}, limits: {cpu: '3'}}}]\n"


def quota(hard: str) -> str:
    return f"apiVersion: v1\nkind: ResourceQuota\nmetadata: {{name: q}}\nspec: {{hard: {hard}}}\n"


def found(rule: str, *documents: str) -> list[Finding]:
    return [finding for finding in lint(stream(*documents)) if finding.rule == rule]


def test_a_limit_range_below_the_pods_refuses_them() -> None:
    (refused,) = found("limit-range-refuses", pod(GREEDY), RANGE)
    assert refused.message.endswith("maximum cpu usage per Container is 2, but limit is 3")
    assert refused.severity is Severity.ERROR
    assert not found("limit-range-refuses", pod(""), RANGE)


def test_pods_beyond_a_quota() -> None:
    deployment = workload("Deployment", "", spec="  replicas: 3\n")
    (refused,) = found("quota-refuses", quota("{pods: 2}"), deployment)
    assert refused.message == "2 of 3 pods fit: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"
    assert not found("quota-refuses", quota("{pods: 3}"), deployment)
    (refused,) = found("quota-refuses", quota("{cpu: 1}"), pod(""))
    assert "failed quota: q: must specify cpu for: " in refused.message
    assert not found("quota-refuses", quota("{cpu: 1}"), pod(""), RANGE)  # which gives it a request


def test_a_runtime_class_that_is_not_among_the_given_ones() -> None:
    kata = "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: kata}\nhandler: kata\n"
    (missing,) = found("runtime-class-missing", kata, pod("  runtimeClassName: kara\n"))
    assert (missing.severity, missing.hint) == (Severity.WARNING, "did you mean kata?")
    assert not found("runtime-class-missing", kata, pod("  runtimeClassName: kata\n"))
    (note,) = found("runtime-class-missing", pod("  runtimeClassName: kata\n"))
    assert note.severity is Severity.INFO
