"""The view "What if" as tests use it: its address, its answer as rows, and the command that asks the same."""

import base64
import json
import subprocess
import sys
from typing import Any

from playwright.sync_api import Locator, Page, expect

Change = dict[str, Any]


def address_of(*changes: Change) -> str:
    text = base64.urlsafe_b64encode(json.dumps(changes).encode()).decode().rstrip("=")
    return f"#/slider?changes={text}"


def changes_in(url: str) -> list[Change]:
    text = url.partition("changes=")[2].partition("&")[0]
    read: list[Change] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return read


def wait_for_answer(page: Page) -> None:
    expect(page.locator("moorage-slider")).to_have_attribute("data-state", "done")


def number(page: Page, name: str) -> Locator:
    return page.locator(f'[data-number="{name}"]')


def evicted(page: Page) -> list[tuple[str, str, str, str]]:
    """The rows of the table of evicted pods: pod, from, to, because; sorted."""
    table = page.get_by_role("table", name="Evicted pods")
    found = []
    for row in table.locator("tbody tr[data-index]").all():
        pod, node, _, landing, because = (cell.inner_text() for cell in row.locator("th, td").all())
        found.append((pod, node, landing, because))
    return sorted(found)


def plan(*arguments: str) -> Any:
    """What `moorage plan` says would happen."""
    command = [sys.executable, "-m", "moorage", "plan", *arguments, "-o", "json"]
    made = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(made.stdout)["whatIf"]


def planned_evictions(what_if: Any) -> list[tuple[str, str, str, str]]:
    """The same rows, from the command's answer."""
    return sorted(
        (
            one["pod"],
            one["node"],
            one["newNode"] or ("Pending" if one["replacedBy"] else "not replaced"),
            one["because"],
        )
        for one in what_if["evicted"]
    )
