"""Load a KubeSchedulerConfiguration file, or say everything that is wrong with it, by line.

What Kubernetes' validation refuses is refused in its words; what Moorage does not support is refused by name. Settings
of the process (leader election, the client's limits, profiling) are checked and have no effect offline.
Kubernetes: cmd/kube-scheduler/app/options/configfile.go and apis/config/validation; decodeNestedObjects of
k8s.io/kube-scheduler/config/v1. Differs: arguments of a plugin that does not exist are refused.
"""

from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

import msgspec

from moorage.model.field_error import FieldError, duplicate, invalid, required
from moorage.model.gates import GateSet
from moorage.model.go.quoting import GoStruct, go_quote
from moorage.model.go.times import DurationError, duration_text, parse_duration
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.schema.known_fields import UnknownField, nearest_name, unknown_fields
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
    PluginConfig,
    PluginSet,
    Point,
)
from moorage.schedule.config.configured_profiles import REMOVED, Findings, ProfileCheck, does_not_exist
from moorage.schedule.config.configured_scheduler import Configuration, ConfigurationError, ConfigurationProblem
from moorage.schedule.config.default_profile import DEFAULT_SCHEDULER
from moorage.schedule.config.plugin_args import Args
from moorage.schedule.config.third_party import PluginRegistry
from moorage.schedule.queue_timers import INITIAL_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS, Backoff

_SECOND = 1_000_000_000
_LEASE_DURATION, _RENEW_DEADLINE, _RETRY_PERIOD = 15 * _SECOND, 10 * _SECOND, 2 * _SECOND
_LEASES = "leases"


def load_configuration(given: bytes | Mapping[str, Any], source: str, gates: GateSet) -> Configuration:
    """Return the configuration of a file's bytes or of a raw document. Raises ConfigurationError."""
    if isinstance(given, bytes):
        document = _only_document(given, source)
        findings = Findings(source, lambda path: document.location(path).line)
        for repeated in document.duplicates:
            findings.refuse_as_said(repeated.path, str(repeated))
        return _configuration(document.raw, findings, gates)
    return _configuration(given, Findings(source, lambda path: 0), gates)


def _only_document(given: bytes, source: str) -> Document:
    documents: list[Document] = []
    for document in read_documents(BytesIO(given), source):
        if isinstance(document, DecodeError):
            raise ConfigurationError((ConfigurationProblem(source, document.line, document.reason),))
        documents.append(document)
    if len(documents) != 1:
        held = f"holds {len(documents)} documents" if documents else "is empty"
        text = f"{held}; it should be one {KIND}"
        raise ConfigurationError((ConfigurationProblem(source, documents[1].line if documents else 1, text),))
    return documents[0]


def _configuration(raw: Mapping[str, Any], findings: Findings, gates: GateSet) -> Configuration:
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
        configured.append(ProfileCheck(profile, path, findings, registry).configured(given.args))
    findings.refuse_fields(_validate_queue_sort(profiles))
    _check_percentage(view.percentageOfNodesToScore, "percentageOfNodesToScore", findings)
    findings.refuse_fields(_validate_backoff(initial, longest))
    if view.extenders:
        text = "Moorage calls no extenders: take them out, or leave their pods to a scheduler that does"
        findings.refuse("extenders", text)
    findings.stop_if_refused()
    return Configuration(tuple(configured), Backoff(float(initial), float(longest)), tuple(findings.notes))


def _check_kind(raw: Mapping[str, Any], findings: Findings) -> None:
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
        return (msgspec.structs.replace(profiles[0], schedulerName=DEFAULT_SCHEDULER),)
    return profiles


def _validate_profile(
    profile: KubeSchedulerProfile, before: tuple[KubeSchedulerProfile, ...], path: str
) -> Iterator[FieldError]:
    name = profile.schedulerName or ""
    if not name:
        yield required(f"{path}.schedulerName")
    if name in [other.schedulerName or "" for other in before]:
        yield duplicate(f"{path}.schedulerName", GoStruct())  # Go prints the other one's path as `{}`


def _check_percentage(percentage: int | None, path: str, findings: Findings) -> None:
    if percentage is None:
        return
    if not 0 <= percentage <= 100:
        findings.refuse_fields([invalid(path, percentage, "not in valid range [0-100]")])
    elif percentage < 100:
        findings.note(path, "has no effect: Moorage looks at every node")


def _validate_queue_sort(profiles: tuple[KubeSchedulerProfile, ...]) -> Iterator[FieldError]:
    first = profiles[0].plugins.queueSort
    if len(first.enabled) > 1:
        detail = "only one queue sort plugin can be enabled"
        yield invalid("profiles[0].plugins.queueSort.Enabled", len(first.enabled), detail)
    for i, profile in enumerate(profiles[1:], 1):
        own = profile.plugins.queueSort
        if _as_go(own) != _as_go(first):
            path = f"profiles[{i}].plugins.{Point.QUEUE_SORT}"
            yield invalid(path, _as_go(own), "must be the same for all profiles")


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


def _validate_backoff(initial: int, longest: int) -> Iterator[FieldError]:
    if initial <= 0:
        yield invalid("podInitialBackoffSeconds", initial, "must be greater than 0")
    if longest < initial:
        detail = "must be greater than or equal to PodInitialBackoffSeconds"
        yield invalid("podMaxBackoffSeconds", longest, detail)


# -- pluginConfig ------------------------------------------------------------------------------------------------------


class GivenArgs(msgspec.Struct):
    """Arguments by plugin; those of Moorage's own plugins also by the path at which they were given."""

    profile: KubeSchedulerProfile
    path: str
    args: dict[str, Any]
    by_path: dict[str, Args]

    def validate(self, gates: GateSet) -> Iterator[FieldError]:
        """Yield Kubernetes' field errors for plugins that were removed, and for all arguments."""
        for point in Point:
            for i, plugin in enumerate(getattr(self.profile.plugins, point.value).enabled):
                if plugin.name in REMOVED:
                    yield _removed(f"{self.path}.plugins.{point}.enabled[{i}]", plugin.name)
        seen: set[str] = set()
        for i, config in enumerate(self.profile.pluginConfig):
            path = f"{self.path}.pluginConfig[{i}]"
            if config.name in seen:
                yield duplicate(path, config.name)
            seen.add(config.name)
            if config.name in REMOVED:
                yield _removed(path, config.name)
            elif path in self.by_path:
                yield from self.by_path[path].validate(f"{path}.args", gates)


def _removed(path: str, name: str) -> FieldError:
    detail = f'was invalid in version "v1" (KubeSchedulerConfiguration is version {go_quote(API_VERSION)})'
    return invalid(path, name, detail)


def read_args(profile: KubeSchedulerProfile, path: str, findings: Findings, registry: PluginRegistry) -> GivenArgs:
    """Read the arguments of all plugins of a profile; those that cannot be read are refused."""
    given = GivenArgs(profile, path, {}, {})
    for i, config in enumerate(profile.pluginConfig):
        at = f"{path}.pluginConfig[{i}]"
        row = registry.get(config.name)
        if row is None:
            if config.name not in REMOVED:
                findings.refuse(at, does_not_exist("plugin", config.name, registry))
        elif row.args is None:
            if config.args:
                findings.note(f"{at}.args", f"{config.name} takes no arguments, so they have no effect")
        elif issubclass(row.args, Args):
            args = _read(config, row.args, at, findings)
            if args is not None:
                given.args[config.name] = given.by_path[at] = args
        else:
            foreign = _read_foreign(config, row.args, at, findings)
            if foreign is not None:
                given.args[config.name] = foreign
    return given


def _read(config: PluginConfig, kind: type[Args], at: str, findings: Findings) -> Args | None:
    raw: Any = {} if config.args is None else config.args
    decoding = f"decoding .{at}: "
    if isinstance(raw, dict):
        stated, version = raw.get("kind") or kind.__name__, raw.get("apiVersion") or API_VERSION
        if version != API_VERSION:
            text = f"no kind {go_quote(str(stated))} is registered for version {go_quote(str(version))}"
            findings.refuse_as_said(
                f"{at}.args.apiVersion", f"{decoding}decoding args for plugin {config.name}: {text}"
            )
            return None
        if stated != kind.__name__:
            text = f"args for plugin {config.name} were not of type {kind.__name__}.{GROUP}, got {stated}.{GROUP}"
            findings.refuse_as_said(f"{at}.args.kind", f"{decoding}{text}")
            return None
    for unknown in unknown_fields(raw, kind):
        findings.refuse_unknown(unknown, f"{at}.args")
    try:
        args = convert_view(raw, kind)
        problems = args.decoding_problems()
    except ConversionError as error:
        problems = [(problem.path, problem.reason) for problem in error.problems]
    for path, reason in problems:
        where = f"{at}.args.{path}" if path else f"{at}.args"
        findings.refuse_as_said(where, f"{decoding}decoding args for plugin {config.name}: {reason}")
    return None if problems else args


def _read_foreign(config: PluginConfig, kind: type[Any], at: str, findings: Findings) -> Any:
    """Read the arguments of another package's plugin: a dict, or its own msgspec type."""
    raw: Any = {} if config.args is None else config.args
    if not isinstance(raw, dict):
        findings.refuse(f"{at}.args", f"args for plugin {config.name} must be an object")
        return None
    if kind is dict:
        return raw
    known = frozenset(kind.__struct_encode_fields__)
    for name in raw.keys() - known:
        findings.refuse_unknown(UnknownField(name, nearest_name(name, known)), f"{at}.args")
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        findings.refuse(f"{at}.args", f"decoding args for plugin {config.name}: {error}")
    return None


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


def _validate_client_connection(client: ClientConnectionConfiguration) -> Iterator[FieldError]:
    if client.burst < 0:
        yield invalid("clientConnection.burst", client.burst, "must be non-negative")


def _validate_leader_election(election: LeaderElectionConfiguration) -> Iterator[FieldError]:
    if election.leaderElect is False:
        return
    lease = _duration(election.leaseDuration, _LEASE_DURATION)
    renew = _duration(election.renewDeadline, _RENEW_DEADLINE)
    retry = _duration(election.retryPeriod, _RETRY_PERIOD)
    for name, value in (("leaseDuration", lease), ("renewDeadline", renew), ("retryPeriod", retry)):
        if value <= 0:
            yield invalid(f"leaderElection.{name}", duration_text(value), "must be greater than zero")
    if lease <= renew:
        detail = "must be greater than `RenewDeadline`"
        yield invalid("leaderElection.leaseDuration", duration_text(renew), detail)
    if election.resourceLock not in ("", _LEASES):
        detail = 'resourceLock value must be "leases"'
        yield invalid("leaderElection.resourceLock", election.resourceLock, detail)


def _duration(text: str, default: int) -> int:
    return (parse_duration(text) or default) if text else default
