"""Load a KubeSchedulerConfiguration file, or say everything that is wrong with it, by line.

What Kubernetes' validation refuses is refused in its words; what Moorage does not support is refused by name. Settings
of the process (leader election, the client's limits, profiling) are checked and have no effect offline.
Kubernetes: cmd/kube-scheduler/app/options/configfile.go and apis/config/validation.
"""

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

from moorage.model.field_error import FieldError, duplicate, invalid, required
from moorage.model.gates import GateSet
from moorage.model.go.durations import DurationError, duration_text, parse_duration
from moorage.model.go.quoting import GoStruct, go_quote
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.schema.known_fields import UnknownField, unknown_fields
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import Document, read_documents
from moorage.schedule.config.configuration_views import (
    API_VERSION,
    GROUP,
    KIND,
    ClientConnectionConfiguration,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    PluginSet,
    Point,
)
from moorage.schedule.config.configured_plugin_args import read_args
from moorage.schedule.config.configured_profiles import configure_profile
from moorage.schedule.config.configured_scheduler import Configuration, ConfigurationProblem
from moorage.schedule.config.default_profile import DEFAULT_SCHEDULER
from moorage.schedule.config.third_party import PluginRegistry
from moorage.schedule.queue.queue import INITIAL_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS, Backoff

# What earlier versions had, and where it went.
_MOVED = {
    "healthzBindAddress": "v1 has no such field: the address is a flag of the process; take it out",
    "metricsBindAddress": "v1 has no such field: the address is a flag of the process; take it out",
    "algorithmSource": "v1 has no such field: write the policy as plugins of a profile",
}
_SECOND = 1_000_000_000
_LEASE_DURATION, _RENEW_DEADLINE, _RETRY_PERIOD = 15 * _SECOND, 10 * _SECOND, 2 * _SECOND
_LEASES = "leases"


class ConfigurationError(Exception):
    """A configuration that cannot be used, with at least one problem."""

    def __init__(self, problems: tuple[ConfigurationProblem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class _Findings:
    """Problems and notes as they are found."""

    def __init__(self, source: str, line_of: Callable[[str], int]) -> None:
        self._source = source
        self._line_of = line_of
        self._problems: list[ConfigurationProblem] = []
        self.notes: list[ConfigurationProblem] = []

    def refuse(self, path: str, text: str) -> None:
        self.refuse_as_said(path, f"{path}: {text}" if path else text)

    def refuse_as_said(self, path: str, text: str) -> None:
        """Add a problem whose text already names the field."""
        self._problems.append(ConfigurationProblem(self._source, self._line_of(path), text))

    def refuse_fields(self, errors: list[FieldError]) -> None:
        for error in errors:
            self.refuse_as_said(error.path, str(error))

    def refuse_unknown(self, field: UnknownField, path: str = "") -> None:
        full = f"{path}.{field.path}" if path else field.path
        hint = f"; did you mean {go_quote(field.nearest)}?" if field.nearest is not None else ""
        moved = _MOVED.get(full)
        self.refuse_as_said(full, f"unknown field {go_quote(full)}{f': {moved}' if moved else hint}")

    def note(self, path: str, text: str) -> None:
        self.notes.append(ConfigurationProblem(self._source, self._line_of(path), f"{path}: {text}"))

    def stop_if_refused(self) -> None:
        """Raise ConfigurationError if there are problems."""
        if self._problems:
            raise ConfigurationError(tuple(dict.fromkeys(self._problems)))


def load_configuration(given: bytes | Mapping[str, Any], source: str, gates: GateSet) -> Configuration:
    """Return the configuration of a file's bytes or of a raw document. Raises ConfigurationError."""
    if isinstance(given, bytes):
        document = _only_document(given, source)
        findings = _Findings(source, lambda path: document.location(path).line)
        for found in document.duplicates:
            findings.refuse_as_said(found.path, str(found))
        return _configuration(document.raw, findings, gates)
    return _configuration(given, _Findings(source, lambda path: 0), gates)


def _only_document(given: bytes, source: str) -> Document:
    documents: list[Document] = []
    for found in read_documents(BytesIO(given), source):
        if isinstance(found, DecodeError):
            raise ConfigurationError((ConfigurationProblem(source, found.line, found.reason),))
        documents.append(found)
    if len(documents) != 1:
        held = f"holds {len(documents)} documents" if documents else "is empty"
        text = f"{held}; it should be one {KIND}"
        raise ConfigurationError((ConfigurationProblem(source, documents[1].line if documents else 1, text),))
    return documents[0]


def _configuration(raw: Mapping[str, Any], findings: _Findings, gates: GateSet) -> Configuration:
    _check_kind(raw, findings)
    findings.stop_if_refused()
    for unknown in unknown_fields(raw, KubeSchedulerConfiguration):
        findings.refuse_unknown(unknown)
    try:
        view = convert_view(raw, KubeSchedulerConfiguration)
    except ConversionError as error:
        for problem in error.problems:
            findings.refuse(problem.path, problem.reason)
        findings.stop_if_refused()
        raise
    for path, text in _duration_problems(view.leaderElection):
        findings.refuse(path, text)
    profiles = _named_profiles(view)
    registry = PluginRegistry()
    args = [read_args(profile, f"profiles[{i}]", findings, registry) for i, profile in enumerate(profiles)]
    findings.stop_if_refused()
    initial, longest = _backoff(view)
    findings.refuse_fields(_validate_client_connection(view.clientConnection))
    findings.refuse_fields(_validate_leader_election(view.leaderElection))
    if view.parallelism is not None and view.parallelism <= 0:
        detail = "should be an integer value greater than zero"
        findings.refuse_fields([invalid("parallelism", view.parallelism, detail)])
    configured = []
    for i, (profile, given) in enumerate(zip(profiles, args, strict=True)):
        path = f"profiles[{i}]"
        findings.refuse_fields(_validate_profile(profile, profiles[:i], path))
        findings.refuse_fields(given.validate(gates))
        _check_percentage(profile.percentageOfNodesToScore, f"{path}.percentageOfNodesToScore", findings)
        configured.append(configure_profile(profile, profile.schedulerName or "", given.args, path, findings, registry))
    findings.refuse_fields(_validate_queue_sort(profiles))
    _check_percentage(view.percentageOfNodesToScore, "percentageOfNodesToScore", findings)
    findings.refuse_fields(_validate_backoff(initial, longest))
    if view.extenders:
        text = "Moorage calls no extenders: take them out, or leave their pods to a scheduler that does"
        findings.refuse("extenders", text)
    findings.stop_if_refused()
    return Configuration(tuple(configured), Backoff(float(initial), float(longest)), tuple(findings.notes))


def _check_kind(raw: Mapping[str, Any], findings: _Findings) -> None:
    version, kind = str(raw.get("apiVersion", "")), str(raw.get("kind", ""))
    if version.partition("/")[0] != GROUP or kind != KIND:
        findings.refuse("kind", f"couldn't decode as {KIND}, got {version}, Kind={kind}")
    elif version != API_VERSION:
        text = (
            f"no kind {go_quote(KIND)} is registered for version {go_quote(version)}; set it to {API_VERSION}, "
            "and whatever v1 has no more will be named"
        )
        findings.refuse("apiVersion", text)


def _named_profiles(view: KubeSchedulerConfiguration) -> tuple[KubeSchedulerProfile, ...]:
    """Return the profiles with defaults: the only one need not have a name."""
    profiles = view.profiles or (KubeSchedulerProfile(),)
    if len(profiles) == 1 and profiles[0].schedulerName is None:
        only = profiles[0]
        return (
            KubeSchedulerProfile(DEFAULT_SCHEDULER, only.percentageOfNodesToScore, only.plugins, only.pluginConfig),
        )
    return profiles


def _validate_profile(
    profile: KubeSchedulerProfile, before: tuple[KubeSchedulerProfile, ...], path: str
) -> list[FieldError]:
    errors: list[FieldError] = []
    name = profile.schedulerName or ""
    if not name:
        errors.append(required(f"{path}.schedulerName"))
    if name in [other.schedulerName or "" for other in before]:
        errors.append(duplicate(f"{path}.schedulerName", GoStruct()))  # Go prints the other one's path as `{}`
    return errors


def _check_percentage(percentage: int | None, path: str, findings: _Findings) -> None:
    if percentage is None:
        return
    if not 0 <= percentage <= 100:
        findings.refuse_fields([invalid(path, percentage, "not in valid range [0-100]")])
    elif percentage < 100:
        findings.note(path, "has no effect: Moorage looks at every node")


def _validate_queue_sort(profiles: tuple[KubeSchedulerProfile, ...]) -> list[FieldError]:
    first = profiles[0].plugins.queueSort
    errors: list[FieldError] = []
    if len(first.enabled) > 1:
        detail = "only one queue sort plugin can be enabled"
        errors.append(invalid("profiles[0].plugins.queueSort.Enabled", len(first.enabled), detail))
    for i, profile in enumerate(profiles[1:], 1):
        own = profile.plugins.queueSort
        if _as_go(own) != _as_go(first):
            path = f"profiles[{i}].plugins.{Point.QUEUE_SORT}"
            errors.append(invalid(path, _as_go(own), "must be the same for all profiles"))
    return errors


def _as_go(own: PluginSet) -> GoStruct:
    enabled = [GoStruct(Name=plugin.name, Weight=plugin.weight or 0) for plugin in own.enabled]
    disabled = [GoStruct(Name=plugin.name, Weight=0) for plugin in own.disabled]
    return GoStruct(Enabled=enabled or None, Disabled=disabled or None)


def _backoff(view: KubeSchedulerConfiguration) -> tuple[int, int]:
    initial, longest = view.podInitialBackoffSeconds, view.podMaxBackoffSeconds
    return (
        int(INITIAL_BACKOFF_SECONDS) if initial is None else initial,
        int(MAX_BACKOFF_SECONDS) if longest is None else longest,
    )


def _validate_backoff(initial: int, longest: int) -> list[FieldError]:
    errors: list[FieldError] = []
    if initial <= 0:
        errors.append(invalid("podInitialBackoffSeconds", initial, "must be greater than 0"))
    if longest < initial:
        detail = "must be greater than or equal to PodInitialBackoffSeconds"
        errors.append(invalid("podMaxBackoffSeconds", longest, detail))
    return errors


# -- settings of the process, which are checked and have no effect offline ---------------------------------------------


def _duration_problems(election: LeaderElectionConfiguration) -> list[tuple[str, str]]:
    """Return the fields that are not durations, with Go's error text."""
    problems = []
    for name in ("leaseDuration", "renewDeadline", "retryPeriod"):
        try:
            _duration(getattr(election, name), 0)
        except DurationError as error:
            problems.append((f"leaderElection.{name}", str(error)))
    return problems


def _validate_client_connection(client: ClientConnectionConfiguration) -> list[FieldError]:
    if client.burst >= 0:
        return []
    return [invalid("clientConnection.burst", client.burst, "must be non-negative")]


def _validate_leader_election(election: LeaderElectionConfiguration) -> list[FieldError]:
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
