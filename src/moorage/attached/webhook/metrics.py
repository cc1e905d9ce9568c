"""Count what the webhook of attach answers, how long that takes, and until when its certificate lasts.

Kubernetes: apiserver_admission_webhook_* tell the same of the other side.
"""

from collections.abc import Callable
from typing import Final

from moorage.attached.webhook.reviews import Result
from moorage.telemetry.metrics import Count, Distribution, Metrics, exponential_buckets

#: Besides those of answers: no AdmissionReview, and an error of ours.
UNREADABLE, FAILED = "unreadable", "failed"
_BUCKETS: Final = exponential_buckets(0.0001, 2, 15)


class WebhookMetrics:
    """The numbers of both webhooks; each is `lower` or `mirror`."""

    def __init__(self, metrics: Metrics, expires: Callable[[], float], native: Callable[[], dict[str, bool]]) -> None:
        help_text = "Reviews by their result: same, changed, refused, unreadable (answered with 400), failed (500)."
        reviews = metrics.counter("moorage_attach_webhook_reviews_total", help_text, ("webhook", "result"))
        help_text = "Time to read a review and to answer it."
        seconds = metrics.histogram(
            "moorage_attach_webhook_review_duration_seconds", help_text, ("webhook",), buckets=_BUCKETS
        )
        self._reviews: dict[str, dict[str, Count]] = {}
        self._seconds: dict[str, Distribution] = {}
        for webhook in ("lower", "mirror"):
            results = (*map(str, Result), UNREADABLE, FAILED)
            self._reviews[webhook] = {result: reviews.labels(webhook, result) for result in results}
            self._seconds[webhook] = seconds.labels(webhook)
        help_text = "Reads of changed certificate files, by result: success, error."
        loads = metrics.counter("moorage_attach_webhook_certificate_loads_total", help_text, ("result",))
        self._loads = {good: loads.labels("success" if good else "error") for good in (True, False)}
        metrics.gauge_function(
            "moorage_attach_webhook_certificate_expiration_timestamp_seconds",
            "When the certificate in use expires, in seconds since the epoch.",
            expires,
        )
        metrics.gauge_function(
            "moorage_attach_webhook_native_operator",
            "1 for operators that are left to the cluster, 0 for those that are lowered.",
            lambda: {(name,): float(is_native) for name, is_native in native().items()},
            ("operator",),
        )

    def answered(self, webhook: str, result: str, seconds: float) -> None:
        self._reviews[webhook][result].value += 1
        self._seconds[webhook].observe(seconds)

    def loaded(self, *, is_good: bool) -> None:
        self._loads[is_good].inc()
