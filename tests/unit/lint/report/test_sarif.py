"""SARIF 2.1.0: the properties that the standard requires and allows in what is written, and the addresses of rules.

The standard's own schema was run over reports of all examples and of unreadable input; it is not copied here.
"""

import json
import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.unit.lint.report.test_forms import report

from moorage.lint.catalogue import rules
from moorage.lint.report.documents import SarifForm

#: For each kind of object in a report: what it must have, what it may have (of what we write), and its parts.
REQUIRED = {
    "log": {"version", "runs"},
    "run": {"tool"},
    "tool": {"driver"},
    "driver": {"name"},
    "rule": {"id"},
    "configuration": set(),
    "text": {"text"},
    "texts": {"text"},
    "result": {"message"},
    "location": set(),
    "physicalLocation": set(),
    "artifactLocation": set(),
    "region": set(),
    "logicalLocation": set(),
    "invocation": {"executionSuccessful"},
    "notification": {"message"},
}
PARTS: dict[str, dict[str, str]] = {
    "log": {"$schema": "", "version": "", "runs": "run*"},
    "run": {"tool": "tool", "columnKind": "", "results": "result*", "invocations": "invocation*"},
    "tool": {"driver": "driver"},
    "driver": {"name": "", "version": "", "informationUri": "uri", "rules": "rule*"},
    "rule": {
        "id": "",
        "shortDescription": "text",
        "help": "texts",
        "helpUri": "uri",
        "defaultConfiguration": "configuration",
    },
    "configuration": {"level": "level"},
    "text": {"text": ""},
    "texts": {"text": "", "markdown": ""},
    "result": {
        "ruleId": "",
        "ruleIndex": "",
        "level": "level",
        "message": "text",
        "locations": "location*",
        "relatedLocations": "location*",
    },
    "location": {"id": "", "physicalLocation": "physicalLocation", "logicalLocations": "logicalLocation*"},
    "physicalLocation": {"artifactLocation": "artifactLocation", "region": "region"},
    "artifactLocation": {"uri": "reference"},
    "region": {"startLine": "positive", "startColumn": "positive"},
    "logicalLocation": {"fullyQualifiedName": ""},
    "invocation": {"executionSuccessful": "", "toolExecutionNotifications": "notification*"},
    "notification": {"level": "level", "message": "text", "locations": "location*"},
}


def check(value: Any, kind: str, path: str = "") -> None:
    if kind.endswith("*"):
        assert isinstance(value, list), path
        for number, item in enumerate(value):
            check(item, kind[:-1], f"{path}[{number}]")
    elif kind == "uri":
        assert urlsplit(value).scheme == "https", path
        assert urlsplit(value).netloc, path
    elif kind == "reference":
        assert re.fullmatch(r"[\w\-.~:/?#\[\]@!$&'()*+,;=%]+", value, re.ASCII), path
    elif kind == "level":
        assert value in ("none", "note", "warning", "error"), path
    elif kind == "positive":
        assert value >= 1, path
    elif kind:
        assert isinstance(value, dict), path
        assert set(value) >= REQUIRED[kind], path
        assert set(value) <= set(PARTS[kind]), path
        for name, part in value.items():
            check(part, PARTS[kind][name], f"{path}.{name}")


def test_a_report_has_what_the_standard_requires_and_nothing_it_forbids() -> None:
    document = json.loads(report(SarifForm))
    check(document, "log")
    assert document["version"] == "2.1.0"
    assert document["runs"][0]["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    assert document["runs"][0]["results"]
    assert document["runs"][0]["invocations"][0]["toolExecutionNotifications"]


@pytest.mark.parametrize("rule", rules().values(), ids=lambda rule: rule.name)
def test_every_rule_brings_its_page_and_no_address(rule: Any) -> None:
    (run,) = json.loads(report(SarifForm))["runs"]
    assert "informationUri" not in run["tool"]["driver"]
    (described,) = (one for one in run["tool"]["driver"]["rules"] if one["id"] == rule.name)
    assert "helpUri" not in described  # the documentation is in the repository; no site is promised
    assert described["help"]["markdown"].startswith(f"# `{rule.name}`")
    assert "](" not in described["help"]["markdown"].replace("](http", "")
