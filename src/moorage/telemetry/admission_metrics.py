"""Count and time policies, webhooks and conversions.

Kubernetes: apiserver's pkg/admission/metrics, the metrics of both kinds of policies, those of apiextensions-apiserver's
conversion. Differs: series of policies that are gone are forgotten.
"""

from typing import Final

from moorage.telemetry.metrics import Metrics, exponential_buckets

_CALL_BUCKETS: Final = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10, 25)
_CHECK_BUCKETS: Final = (0.0000005, 0.001, 0.01, 0.1, 1.0)
_CONVERSION_BUCKETS: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60)
_HIGHEST_CODE: Final = 600  # so that a webhook does not make series as it likes
_TYPES: Final = {True: "admit", False: "validating"}
_MUTATION: Final = ("policy", "policy_binding", "error_type")
_CHECK: Final = (*_MUTATION, "enforcement_action")


class AdmissionMetrics:
    """What policies and webhooks have done."""

    def __init__(self, metrics: Metrics) -> None:
        self._call_seconds = metrics.histogram(
            "apiserver_admission_webhook_admission_duration_seconds",
            "Admission webhook latency histogram in seconds, identified by name and broken out for each operation and "
            "API resource and type (validate or admit).",
            ("name", "type", "operation", "rejected"),
            _CALL_BUCKETS,
        )
        self._calls = metrics.counter(
            "apiserver_admission_webhook_request_total",
            "Admission webhook request total, identified by name and broken out for each admission type (validating or "
            "admit) and operation, with whether the request was rejected and an HTTP status code of 600 at most.",
            ("name", "type", "operation", "code", "rejected"),
        )
        self._rejections = metrics.counter(
            "apiserver_admission_webhook_rejection_count",
            "Admission webhook rejection count, identified by name and broken out for each admission type (validating "
            "or admit) and operation, with the type of error and the code of the rejection.",
            ("name", "type", "operation", "error_type", "rejection_code"),
        )
        self._failed_open = metrics.counter(
            "apiserver_admission_webhook_fail_open_count",
            "Admission webhook fail open count, identified by name and broken out for each admission type (validating "
            "or admit).",
            ("name", "type"),
        )
        self._checks = metrics.counter(
            "apiserver_validating_admission_policy_check_total",
            "Validation admission policy check total, labeled by policy and further identified by binding and "
            "enforcement action taken.",
            _CHECK,
        )
        self._check_seconds = metrics.histogram(
            "apiserver_validating_admission_policy_check_duration_seconds",
            "Validation admission latency for individual validation expressions in seconds, labeled by policy and "
            "further including binding and enforcement action taken.",
            _CHECK,
            _CHECK_BUCKETS,
        )
        self._mutations = metrics.counter(
            "apiserver_mutating_admission_policy_check_total",
            "Mutation admission policy check total, labeled by policy and further identified by binding.",
            _MUTATION,
        )
        self._mutation_seconds = metrics.histogram(
            "apiserver_mutating_admission_policy_check_duration_seconds",
            "Mutation admission latency for individual mutation expressions in seconds, labeled by policy and binding.",
            _MUTATION,
            _CHECK_BUCKETS,
        )
        self._conversions = metrics.counter(
            "apiserver_conversion_webhook_request_total",
            "Counter for conversion webhook requests with success/failure and failure error type",
            ("result", "failure_type"),
        )
        self._conversion_seconds = metrics.histogram(
            "apiserver_conversion_webhook_duration_seconds",
            "Conversion webhook request latency",
            ("result", "failure_type"),
            _CONVERSION_BUCKETS,
        )
        self._definition_seconds = metrics.histogram(
            "apiserver_crd_conversion_webhook_duration_seconds",
            "CRD webhook conversion duration in seconds",
            ("crd_name", "from_version", "to_version", "succeeded"),
            exponential_buckets(0.001, 2, 15),
        )

    def called(
        self,
        webhook: str,
        operation: str,
        seconds: float,
        *,
        is_mutating: bool,
        code: int = 200,
        is_rejected: bool = False,
        error_type: str = "",
        failed_open: bool = False,
    ) -> None:
        """Count the call of a webhook. Rejections without an `error_type` are not counted as such."""
        type_, rejected = _TYPES[is_mutating], str(is_rejected).lower()
        bounded = str(min(code, _HIGHEST_CODE))
        self._calls.labels(webhook, type_, operation, bounded, rejected).value += 1
        self._call_seconds.labels(webhook, type_, operation, rejected).observe(seconds)
        if is_rejected and error_type:
            self._rejections.labels(webhook, type_, operation, error_type, bounded).value += 1
        if failed_open:
            self._failed_open.labels(webhook, type_).value += 1

    def checked(self, policy: str, binding: str, error_type: str, action: str, seconds: float) -> None:
        """Count what a validating policy decided; `action` is deny, warn, audit or allow."""
        self._checks.labels(policy, binding, error_type, action).value += 1
        self._check_seconds.labels(policy, binding, error_type, action).observe(seconds)

    def mutated(self, policy: str, binding: str, error_type: str, seconds: float) -> None:
        self._mutations.labels(policy, binding, error_type).value += 1
        self._mutation_seconds.labels(policy, binding, error_type).observe(seconds)

    def converted(self, definition: str, versions: tuple[str, str], seconds: float, failure_type: str = "") -> None:
        """Count the call of a conversion webhook, from one version to another."""
        result = "failure" if failure_type else "success"
        self._conversions.labels(result, failure_type).value += 1
        self._conversion_seconds.labels(result, failure_type).observe(seconds)
        self._definition_seconds.labels(definition, *versions, str(not failure_type).lower()).observe(seconds)

    def forget_policy(self, policy: str, *, is_mutating: bool) -> None:
        """Forget the series of a policy that is gone."""
        families = (self._mutations, self._mutation_seconds) if is_mutating else (self._checks, self._check_seconds)
        for family in families:
            family.forget_where(("policy", "policy_binding"), lambda names: names[0] == policy)
