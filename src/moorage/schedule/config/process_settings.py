"""The parts of a scheduler's configuration that are about its process: leader election and the API server's client.

In: their views. Out: field errors. Offline nothing else reads these settings; they are checked so that a file which
passes here passes there. Kubernetes: k8s.io/component-base/config/validation, after defaulting.
"""

from moorage.model.field_error import FieldError, invalid
from moorage.model.go.durations import DurationError, duration_text, parse_duration
from moorage.schedule.config.configuration_views import ClientConnectionConfiguration, LeaderElectionConfiguration

_SECOND = 1_000_000_000
_LEASE_DURATION, _RENEW_DEADLINE, _RETRY_PERIOD = 15 * _SECOND, 10 * _SECOND, 2 * _SECOND
_LEASES = "leases"


def duration_problems(election: LeaderElectionConfiguration) -> list[tuple[str, str]]:
    """The fields that hold no duration, with Go's words for it."""
    problems = []
    for name in ("leaseDuration", "renewDeadline", "retryPeriod"):
        try:
            _duration(getattr(election, name), 0)
        except DurationError as error:
            problems.append((f"leaderElection.{name}", str(error)))
    return problems


def validate_client_connection(client: ClientConnectionConfiguration) -> list[FieldError]:
    if client.burst >= 0:
        return []
    return [invalid("clientConnection.burst", client.burst, "must be non-negative")]


def validate_leader_election(election: LeaderElectionConfiguration) -> list[FieldError]:
    """Nothing is wrong with how a leader is elected if none is."""
    if election.leaderElect is False:
        return []
    errors: list[FieldError] = []
    lease = _duration(election.leaseDuration, _LEASE_DURATION)
    renew = _duration(election.renewDeadline, _RENEW_DEADLINE)
    retry = _duration(election.retryPeriod, _RETRY_PERIOD)
    for name, value in (("leaseDuration", lease), ("renewDeadline", renew), ("retryPeriod", retry)):
        if value <= 0:
            errors.append(invalid(f"leaderElection.{name}", duration_text(value), "must be greater than zero"))
    if lease <= renew:
        detail = "must be greater than `RenewDeadline`"
        errors.append(invalid("leaderElection.leaseDuration", duration_text(renew), detail))
    if election.resourceLock not in ("", _LEASES):
        detail = 'resourceLock value must be "leases"'
        errors.append(invalid("leaderElection.resourceLock", election.resourceLock, detail))
    return errors


def _duration(text: str, default: int) -> int:
    return (parse_duration(text) or default) if text else default
