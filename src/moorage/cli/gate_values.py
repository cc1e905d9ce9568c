"""Reads what the gates of each component are set to, from their metrics."""

import asyncio
import re
import urllib.error
import urllib.request
from collections.abc import Iterable

import msgspec

from moorage.client.http.client import HttpClient
from moorage.client.kubeconfig.access import KubeconfigError
from moorage.client.kubeconfig.loading import load_access
from moorage.client.protocol import Unreachable
from moorage.model.api_error import ApiError
from moorage.model.gates import GATES, Component
from moorage.telemetry.process_metrics import NAME

#: By gate and component: whether it is on; absent if unknown.
Values = dict[str, dict[str, bool]]

_LINE = re.compile(rf"^{NAME}\{{(?P<labels>[^}}]*)\}} (?P<value>[01])", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_SECONDS = 10.0
_ON, _OFF, _UNKNOWN, _UNREAD = "on", "off", "?", "-"


class CannotScrape(Exception):
    """Why metrics could not be read: one line for the user."""


def default_values() -> Values:
    return {gate.name: {component.value: gate.default for component in gate.components} for gate in GATES}


def live_values(kubeconfig: str | None, context: str, endpoints: Iterable[str]) -> Values:
    """Raises CannotScrape."""
    values: Values = {}
    if kubeconfig is not None:
        _add(values, _from_server(kubeconfig, context), Component.API_SERVER.value)
    for endpoint in endpoints:
        _add(values, _from_endpoint(endpoint), endpoint)
    if not values:
        raise CannotScrape(f"no {NAME} in the metrics: this server does not say what its gates are")
    return values


def _add(values: Values, text: str, component: str) -> None:
    """Add the gates in `text`; `component` is theirs if they name none."""
    for line in _LINE.finditer(text):
        labels = dict(_LABEL.findall(line["labels"]))
        values.setdefault(labels.get("name", ""), {})[labels.get("component", component)] = line["value"] == "1"


def _from_server(kubeconfig: str, context: str) -> str:
    try:
        client = HttpClient(load_access(kubeconfig, context=context), "gates")
        return asyncio.run(_get(client, "/metrics")).decode("utf-8", "replace")
    except KubeconfigError as error:
        raise CannotScrape(str(error)) from None
    except Unreachable as error:
        raise CannotScrape(f"the API server cannot be reached: {error}") from None
    except ApiError as error:
        raise CannotScrape(f"the API server's metrics cannot be read: {error.message}") from None


async def _get(client: HttpClient, path: str) -> bytes:
    try:
        return await client.get_path(path)
    finally:
        await client.close()


def _from_endpoint(endpoint: str) -> str:
    if not endpoint.startswith(("http://", "https://")):
        raise CannotScrape(f"--scrape: {endpoint}: must begin with http:// or https://")
    url = endpoint if endpoint.endswith("/metrics") else f"{endpoint.rstrip('/')}/metrics"
    try:
        with urllib.request.urlopen(url, timeout=_SECONDS) as answer:
            return str(answer.read().decode("utf-8", "replace"))
    except (OSError, urllib.error.URLError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise CannotScrape(f"--scrape: {url}: {getattr(reason, 'strerror', None) or reason}") from None


def render_table(values: Values) -> str:
    """A line for each gate, a column for each component."""
    known = [component.value for component in Component]
    others = sorted({name for row in values.values() for name in row} - set(known))
    columns = [*known, *others]
    stages = {gate.name: gate.stage.value for gate in GATES}
    readers = {gate.name: {component.value for component in gate.components} for gate in GATES}
    rows = [["GATE", "STAGE", *(name.upper() for name in columns)]]
    for gate, row in values.items():
        cells = [_cell(row.get(name), name in readers.get(gate, ())) for name in columns]
        rows.append([gate, stages.get(gate, ""), *cells])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: bool | None, is_read: bool) -> str:
    if value is None:
        return _UNKNOWN if is_read else _UNREAD
    return _ON if value else _OFF


def as_document(values: Values) -> str:
    return msgspec.json.format(msgspec.json.encode(values)).decode() + "\n"
