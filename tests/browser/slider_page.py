"""The view "What if" as tests use it: its address, its answer as rows, and the command that asks the same."""

import base64
import json
from typing import Any

from playwright.sync_api import Locator, Page, expect
from tests.e2e.forked_command import forked_moorage

Change = dict[str, Any]
#: The texts of all cells. A table paints its rows in the frame after it has got them.
_CELLS = """async (table) => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const rows = [...table.querySelectorAll("tbody tr[data-index]")];
  return rows.map((row) => [...row.querySelectorAll("th, td")].map((cell) => cell.innerText));
}"""


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
    """The number of that name; a zero is not shown."""
    return page.locator(f'[data-number="{name}"]')


def expect_number(page: Page, name: str, value: int) -> None:
    if value:
        expect(number(page, name)).to_have_text(str(value))
    else:
        expect(number(page, name)).to_have_count(0)


def evicted(page: Page) -> list[tuple[str, str, str, str]]:
    """The rows of the table of evicted pods: pod, from, to, because; sorted."""
    rows = page.get_by_role("table", name="Evicted pods").evaluate(_CELLS)
    return sorted((pod, node, landing, because) for pod, node, _, landing, because in rows)


def plan(*arguments: str) -> Any:
    """What `moorage plan` says would happen."""
    made = forked_moorage(["plan", *arguments, "-o", "json"])
    assert not made.returncode, made.stderr
    return json.loads(made.stdout)["whatIf"]


def planned_evictions(what_if: Any) -> list[tuple[str, str, str, str]]:
    """The same rows, from the command's answer."""
    return sorted(
        (
            one["pod"],
            one["node"],
            one["newNode"] or ("waits for a node" if one["replacedBy"] else "not replaced"),
            one["because"],
        )
        for one in what_if["evicted"]
    )
