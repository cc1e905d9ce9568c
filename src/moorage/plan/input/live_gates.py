"""Read the feature gates of a live cluster from the metrics of its components, where they tell them.

`moorage up` tells the gates of all its components, a Kubernetes API server its own. A gate that a component does not
name has its default; a component that tells nothing is taken to have the API server's gates.
Kubernetes: kubernetes_feature_enabled.
"""

import asyncio
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.loading import load_access
from moorage.client.protocol import Unreachable
from moorage.lint.finding import Severity
from moorage.model.api_error import ApiError
from moorage.model.gate_skew import Known, listed, skews
from moorage.model.gates import GATES, Component, GateSet, named_values
from moorage.plan.input.inventory import Note
from moorage.telemetry.metrics import NAME

#: By gate and component: whether it is on; absent if it is not known.
Values = dict[str, dict[str, bool]]

SUBJECT = "feature gates"
_LINE = re.compile(rf"^{NAME}\{{(?P<labels>[^}}]*)\}} (?P<value>[01])", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_SECONDS = 10.0
_MAX_BYTES = 64 * 1024 * 1024
_ORDER = {gate.name: number for number, gate in enumerate(GATES)}


class ScrapeLogin(NamedTuple):
    """Files to ask components with that serve metrics by HTTPS: whose certificates to trust, and a bearer token."""

    authority: str = ""
    token: str = ""


_NO_LOGIN = ScrapeLogin()


class LiveGates(NamedTuple):
    """What the components told, in the order of `GATES`, and why others did not."""

    values: Values
    problems: tuple[str, ...] = ()

    def table(self) -> dict[str, dict[str, bool | None]]:
        """Return the values of all gates, those that only the metrics name last; None where it is not known."""
        unknown: dict[str, dict[str, bool | None]] = {
            gate.name: dict.fromkeys(component.value for component in gate.components) for gate in GATES
        }
        names = (*unknown, *(name for name in self.values if name not in unknown))
        return {name: dict(sorted({**unknown.get(name, {}), **self.values.get(name, {})}.items())) for name in names}

    def known(self) -> Known:
        """Return the values of each component that told them; those of gates that it did not name are the defaults."""
        told = {component for row in self.values.values() for component in row}
        return {
            component: {
                gate.name: self.values.get(gate.name, {}).get(component, gate.default)
                for gate in GATES
                if component in gate.components
            }
            for component in Component
            if component in told
        }


def gates_in(texts: Mapping[str, str], problems: Iterable[str] = ()) -> LiveGates:
    """Read metrics; each text is that of a component, which is whose gates it tells unless it names others."""
    values: Values = {}
    for owner, text in texts.items():
        for line in _LINE.finditer(text):
            labels = dict(_LABEL.findall(line["labels"]))
            values.setdefault(labels.get("name", ""), {})[labels.get("component", owner)] = line["value"] == "1"
    names = sorted(values, key=lambda name: (_ORDER.get(name, len(_ORDER)), name))
    return LiveGates({name: dict(sorted(values[name].items())) for name in names}, tuple(problems))


def read_gates(
    kubeconfig: str | None, context: str = "", endpoints: Collection[str] = (), login: ScrapeLogin = _NO_LOGIN
) -> LiveGates:
    """Ask the API server of a kubeconfig, if there is one, and the components that serve metrics elsewhere.

    Raises KubeconfigError.
    """
    texts: dict[str, str] = {}
    problems: list[str] = []
    if kubeconfig is not None:
        client = HttpClient(load_access(kubeconfig, context=context), "gates")
        asyncio.run(_ask_and_close(client, texts, problems))
    ask_endpoints(endpoints, texts, problems, login)
    return gates_in(texts, problems)


async def _ask_and_close(client: HttpClient, texts: dict[str, str], problems: list[str]) -> None:
    try:
        await ask_server(client, texts, problems)
    finally:
        await client.close()


async def ask_server(client: HttpClient, texts: dict[str, str], problems: list[str]) -> None:
    """Read the API server's metrics."""
    try:
        text = (await client.get_path("/metrics")).decode("utf-8", "replace")
    except Unreachable as error:
        problems.append(f"the API server cannot be reached: {error}")
    except ApiError as error:
        problems.append(f"the API server's metrics cannot be read: {error.message}")
    else:
        texts[Component.API_SERVER] = text
        if f"{NAME}{{" not in text:
            problems.append(f"no {NAME} in the API server's metrics: it does not say what its gates are")


def ask_endpoints(
    endpoints: Collection[str], texts: dict[str, str], problems: list[str], login: ScrapeLogin = _NO_LOGIN
) -> None:
    """Read the metrics that components serve by HTTP or HTTPS."""
    if not endpoints:
        return
    try:
        trusted = ssl.create_default_context(cafile=login.authority or None)
    except (OSError, ValueError) as error:
        problems.append(f"--scrape-ca: {login.authority}: {_reason(error)}")
        return
    try:
        token = Path(login.token).read_text("ascii").strip() if login.token else ""
    except (OSError, ValueError) as error:
        problems.append(f"--scrape-token-file: {login.token}: {_reason(error)}")
        return
    for endpoint in endpoints:
        _ask_endpoint(endpoint, texts, problems, trusted, token)


def _ask_endpoint(
    endpoint: str, texts: dict[str, str], problems: list[str], trusted: ssl.SSLContext, token: str
) -> None:
    if not endpoint.startswith(("http://", "https://")):
        problems.append(f"--scrape: {endpoint}: must begin with http:// or https://")
        return
    url = endpoint if endpoint.endswith("/metrics") else f"{endpoint.rstrip('/')}/metrics"
    try:
        request = urllib.request.Request(url)
        if token and url.startswith("https://"):
            request.add_unredirected_header("Authorization", f"Bearer {token}")
        with urllib.request.urlopen(request, timeout=_SECONDS, context=trusted) as answer:
            texts[endpoint] = str(answer.read(_MAX_BYTES).decode("utf-8", "replace"))
    except (OSError, urllib.error.URLError, ValueError) as error:
        problems.append(f"--scrape: {url}: {_reason(error)}")
    else:
        if f"{NAME}{{" not in texts[endpoint]:
            problems.append(f"--scrape: {url}: no {NAME} in the metrics")


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return str(getattr(reason, "strerror", None) or reason)


# -- for a plan -------------------------------------------------------------------------------------------------------


def gates_to_plan_with(
    live: LiveGates, wanted: Mapping[str, bool], only: Mapping[Component, Mapping[str, bool]] = MappingProxyType({})
) -> dict[Component, GateSet]:
    """Return the gates of each component: the cluster's, or what the command line wants for all, or `only` for some."""
    told = live.known()
    found: dict[Component, GateSet] = {}
    for component in Component:
        ours = {gate.name: gate.default for gate in GATES} | dict(told.get(Component.API_SERVER, {}))
        values = ours | dict(told.get(component, {})) | dict(wanted)
        values |= named_values(only.get(component, {}))
        found[component] = GateSet(frozenset(name for name, on in values.items() if on))
    return found


def gate_options(live: LiveGates) -> list[str]:
    """Return the options of `plan` and `up` that set the cluster's gates; none for the defaults."""
    found = gates_to_plan_with(live, {})
    everywhere = found[Component.API_SERVER]
    set_everywhere = {
        gate.name: everywhere.enabled(gate) for gate in GATES if everywhere.enabled(gate) is not gate.default
    }
    options = [f"--feature-gates={_settings(set_everywhere)}"] if set_everywhere else []
    for component, gates in found.items():
        own = {gate.name: gates.enabled(gate) for gate in GATES if gates.enabled(gate) is not everywhere.enabled(gate)}
        if own:
            options.append(f"--{component.value.removeprefix('kube-')}-feature-gates={_settings(own)}")
    return options


def _settings(gates: Mapping[str, bool]) -> str:
    return ",".join(f"{name}={'true' if on else 'false'}" for name, on in gates.items())


def gate_notes(live: LiveGates, wanted: Mapping[str, bool]) -> Iterator[Note]:
    """Say which gates were found, which components did not tell, and where the command line differs."""
    told = live.known()
    silent = [component for component in Component if component not in told]
    for problem in live.problems:
        yield Note(Severity.WARNING, SUBJECT, problem)
    if not told:
        text = "the cluster does not tell them: the defaults are assumed; --feature-gates sets others"
        yield Note(Severity.WARNING, SUBJECT, text)
    else:
        found = "; ".join(_unusual(told)) or "all at their defaults"
        yield Note(Severity.INFO, SUBJECT, f"as the cluster has them: {found}")
        if silent:
            source = "the API server's" if Component.API_SERVER in told else "the defaults"
            verb = "does" if len(silent) == 1 else "do"
            text = f"{listed(silent)} {verb} not tell: taken to be {source}; --scrape URL asks a component"
            yield Note(Severity.INFO, SUBJECT, text)
    for name, on in wanted.items():
        others = [component for component, values in told.items() if values.get(name, on) is not on]
        if others:
            here, there = ("on", "off") if on else ("off", "on")
            text = f"{name} is {here} here, as --feature-gates says, but {there} in the cluster ({listed(others)})"
            yield Note(Severity.WARNING, SUBJECT, text)
    yield from skew_notes(told)


def skew_notes(values: Known) -> Iterator[Note]:
    """Warn of gates that are on in some components only, where that does harm."""
    yield from (Note(Severity.WARNING, SUBJECT, f"half enabled: {skew}") for skew in skews(values))


def _unusual(told: Known) -> Iterator[str]:
    """Name the gates that are not at their default everywhere."""
    for gate in GATES:
        values = {component: values[gate.name] for component, values in told.items() if gate.name in values}
        on, off = ([component for component, value in values.items() if value is wanted] for wanted in (True, False))
        if (off if gate.default else on) == []:
            continue
        parts = [f"{word} in {listed(where)}" for word, where in (("on", on), ("off", off)) if where]
        yield f"{gate.name} {', '.join(parts) if len(parts) > 1 else 'on' if on else 'off'}"
