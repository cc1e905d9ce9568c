"""Count what policies and webhooks did to a request, once it is answered."""

from moorage.admit.extension.remarks import Remarks
from moorage.model.kinds import KINDS, Kind
from moorage.serve.resources.objects import name_in, prefix_of
from moorage.store.protocol import Change, Store
from moorage.telemetry.admission_metrics import AdmissionMetrics


def forget_deleted_policies(metrics: AdmissionMetrics, store: Store) -> None:
    """Let the series of a policy go with it."""

    def follow(kind: Kind, *, is_mutating: bool) -> None:
        def heard(change: Change) -> None:
            if change.new is None:
                metrics.forget_policy(name_in(change.key), is_mutating=is_mutating)

        store.subscribe(prefix_of(kind), heard)

    follow(KINDS.VALIDATING_ADMISSION_POLICY, is_mutating=False)
    follow(KINDS.MUTATING_ADMISSION_POLICY, is_mutating=True)


def observe(metrics: AdmissionMetrics, remarks: Remarks) -> None:
    """Count calls of webhooks, checks and mutations of policies."""
    for call in remarks.calls:
        metrics.called(
            call.webhook,
            call.operation,
            call.seconds,
            is_mutating=call.is_mutating,
            code=call.code,
            is_rejected=call.is_rejected,
            error_type=call.error_type,
            failed_open=call.failed_open,
        )
    for check in remarks.checks:
        metrics.checked(check.policy, check.binding, check.error_type, check.action, check.seconds)
    for mutation in remarks.mutations:
        metrics.mutated(mutation.policy, mutation.binding, mutation.error_type, mutation.seconds)
