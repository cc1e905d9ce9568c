"""Count calls of webhooks, checks of policies and conversions under Kubernetes' names."""

from moorage.admit.extension.remarks import CallOutcome, MutationCheck, PolicyCheck, Remarks
from moorage.serve.admission.observed import observe
from moorage.telemetry.admission_metrics import AdmissionMetrics
from moorage.telemetry.metrics import Metrics


def counted(metrics: Metrics) -> dict[str, float]:
    """Counters by name and labels; of histograms the number of observations."""
    return {
        f"{family.name}{sample.suffix} {' '.join(value for _, value in sample.labels)}".strip(): sample.value
        for family in metrics.families()
        for sample in family.samples()
        if sample.suffix in ("", "_count")
    }


def test_remarks_are_counted() -> None:
    metrics = Metrics()
    calls = [
        CallOutcome("hooks", "a", True, "CREATE", 0.1),
        CallOutcome("hooks", "b", False, "UPDATE", 0.1, 403, True, "no_error"),
        CallOutcome("hooks", "c", False, "DELETE", 0.1, 700, True, "calling_webhook_error"),
        CallOutcome("hooks", "d", True, "CREATE", 0.1, 503, failed_open=True),
        CallOutcome("hooks", "e", True, "CREATE", 0.1, 503, True, ""),
    ]
    remarks = Remarks(
        calls=calls,
        checks=[PolicyCheck("p", "b", "warn", "no_error", 0.0001)] * 2,
        mutations=[MutationCheck("m", "b", "invalid_error", 0.0001)],
    )
    observe(AdmissionMetrics(metrics), remarks)
    seconds = "apiserver_admission_webhook_admission_duration_seconds_count"
    total = "apiserver_admission_webhook_request_total"
    assert counted(metrics) == {
        f"{seconds} a admit CREATE false": 1,
        f"{seconds} b validating UPDATE true": 1,
        f"{seconds} c validating DELETE true": 1,
        f"{seconds} d admit CREATE false": 1,
        f"{seconds} e admit CREATE true": 1,
        f"{total} a admit CREATE 200 false": 1,
        f"{total} b validating UPDATE 403 true": 1,
        f"{total} c validating DELETE 600 true": 1,
        f"{total} d admit CREATE 503 false": 1,
        f"{total} e admit CREATE 503 true": 1,
        "apiserver_admission_webhook_rejection_count b validating UPDATE no_error 403": 1,
        "apiserver_admission_webhook_rejection_count c validating DELETE calling_webhook_error 600": 1,
        "apiserver_admission_webhook_fail_open_count d admit": 1,
        "apiserver_validating_admission_policy_check_total p b no_error warn": 2,
        "apiserver_validating_admission_policy_check_duration_seconds_count p b no_error warn": 2,
        "apiserver_mutating_admission_policy_check_total m b invalid_error": 1,
        "apiserver_mutating_admission_policy_check_duration_seconds_count m b invalid_error": 1,
    }


def test_conversions_are_counted() -> None:
    metrics = Metrics()
    admission = AdmissionMetrics(metrics)
    admission.converted("gadgets.example.com", ("v1", "v2"), 0.1)
    admission.converted("gadgets.example.com", ("v1", "v2"), 0.1, "conversion_webhook_call_failure")
    assert counted(metrics) == {
        "apiserver_conversion_webhook_request_total success": 1,
        "apiserver_conversion_webhook_request_total failure conversion_webhook_call_failure": 1,
        "apiserver_conversion_webhook_duration_seconds_count success": 1,
        "apiserver_conversion_webhook_duration_seconds_count failure conversion_webhook_call_failure": 1,
        "apiserver_crd_conversion_webhook_duration_seconds_count gadgets.example.com v1 v2 true": 1,
        "apiserver_crd_conversion_webhook_duration_seconds_count gadgets.example.com v1 v2 false": 1,
    }


def test_series_of_policies_that_are_gone_are_forgotten() -> None:
    metrics = Metrics()
    admission = AdmissionMetrics(metrics)
    for name in ("kept", "gone"):
        admission.checked(name, "b", "no_error", "allow", 0.0)
        admission.mutated(name, "b", "no_error", 0.0)
    for is_mutating in (True, False):
        admission.forget_policy("gone", is_mutating=is_mutating)
    assert {name.split()[1] for name in counted(metrics)} == {"kept"}
