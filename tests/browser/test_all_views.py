"""Every view, of files, of a live cluster and of a saved page: accessible, on a phone and a screen, light and dark."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.accessibility import violations
from tests.browser.conftest import ALL_GATES, EXAMPLE, PATIENCE, OpenPage, Visitor
from tests.browser.slider_page import address_of
from tests.browser.test_saved_pages import TAINT, moorage

KEY = "spot.example.com/failure-probability"
CHANGES = (
    {"taint": {"nodes": ["spot-1"], "key": KEY, "value": "50", "effect": "NoExecute"}},
    {"drain": "ondemand-1"},
)
POD = "versions/database-0"
WAITS = "deployment/versions/next-release"
#: What is looked at, and where the saved page of a plan has it, too.
EVERYWHERE = {
    "map": "#/map",
    "table of nodes": "#/map?as=table",
    "node": "#/map?node=spot-1",
    "pod": f"#/map?look={POD}",
    "pending": "#/pending",
    "what if": "#/slider",
    "timeline": "#/timeline",
}
SERVED = {
    **EVERYWHERE,
    "table of pods": "#/map?as=pods",
    "what would help": f"#/pending?pod={WAITS}&tab=help",
    "scores": f"#/pending?pod={POD}&tab=scores",
    "what if": address_of(*CHANGES),
    "playground": "#/playground",
    "lanes": "#/timeline?tab=lanes",
    "rollouts": "#/timeline?tab=rollouts",
    "back in time": "#/timeline?tab=moments",
    "gates": "#/gates?gate=TaintTolerationComparisonOperators",
    "capacity": "#/capacity",
}
SAVED = {**EVERYWHERE, "plan": "#/plan", "before": "#/map?moment=before"}
#: What is there once a view has been drawn with its answers.
_MAP, _ROWS = ".map-legend .legend-entry, .map-legend .legend-ramp", ".map-rows tbody tr[data-index]"
READY = {
    "map": _MAP,
    "before": _MAP,
    "table of nodes": _ROWS,
    "table of pods": _ROWS,
    "node": ".node-page .facts dd",
    "pod": ".pod-panel section",
    "pending": ".pending-explanation",
    "what would help": ".help-card",
    "scores": ".scores",
    "what if": "moorage-slider[data-state=done]",
    "timeline": ".entry-list tbody tr",
    "lanes": ".lane",
    "rollouts": ".rollouts",
    "back in time": ".moment-label",
    "playground": ".match-summary",
    "gates": ".gate-detail h2",
    "capacity": ".capacity-curve .curve-table",
    "plan": "td[data-number]",
}
WIDE, PHONE = (1440, 900), (390, 844)
#: 200 % on a screen, a phone, and the width that WCAG names for reflow.
WIDTHS = (720, 390, 320)
_WIDER = """() => [...document.querySelectorAll("body *")].filter((element) => {
    const box = element.getBoundingClientRect();
    return box.width && box.right + scrollX > innerWidth + 1;
}).slice(0, 5).map((element) => `${element.tagName} ${element.className} ${element.textContent.slice(0, 40)}`)"""


def settle(page: Page, name: str) -> None:
    """Wait until the view has its answers; open whatever is folded."""
    expect(page.locator(READY[name]).first).to_be_attached()
    expect(page.locator(".loading:visible, .skeleton:visible")).to_have_count(0)
    expect(page.get_by_text("Asking the simulated cluster")).to_have_count(0)
    page.evaluate("""() => {
      document.querySelectorAll("main details, aside details").forEach((one) => (one.open = true));
      return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }""")


def walk(page: Page, addresses: dict[str, str], check: Callable[[str], None]) -> None:
    base = page.url.partition("#")[0]
    for name, address in addresses.items():
        page.goto("about:blank")  # from one view to the other, what the one shows would be taken for the other's
        page.goto(f"{base}{address}")
        settle(page, name)
        check(name)


def resize(page: Page, size: tuple[int, int], scheme: Any = "light") -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")


@pytest.fixture(params=["files", "live", "saved"])
def page_and_views(
    request: pytest.FixtureRequest, open_page: OpenPage, browser: Browser, tmp_path: Path
) -> Iterator[tuple[Page, dict[str, str]]]:
    if request.param != "saved":
        visitor: Visitor = request.getfixturevalue(f"{request.param}_dashboard")
        yield open_page(visitor, "#/map"), SERVED
        return
    path = tmp_path / "plan.html"
    path.write_text(moorage("plan", str(EXAMPLE), ALL_GATES, TAINT, "--at=5m", "--output", "html"), "utf-8")
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(path.as_uri())
    yield page, SAVED
    context.close()


def test_no_view_has_a_violation_or_is_wider_than_its_window(page_and_views: tuple[Page, dict[str, str]]) -> None:
    page, views = page_and_views
    found: list[str] = []

    def check(name: str) -> None:
        for size, scheme, rules in (
            (WIDE, "light", None),
            (WIDE, "dark", ["color-contrast"]),
            (PHONE, "dark", None),
            (PHONE, "light", ["color-contrast"]),
        ):
            resize(page, size, scheme)
            found.extend(f"{name} {size[0]} {scheme}: {one}" for one in violations(page, rules))
        for width in WIDTHS:
            resize(page, (width, 800))
            if page.evaluate("document.documentElement.scrollWidth") > width:
                found.append(f"{name} is wider than {width}: {page.evaluate(_WIDER)}")
        resize(page, WIDE)

    walk(page, views, check)
    assert found == []


#: Each key press must show where the focus is: an outline, a shadow or a frame that the element has only then.
_UNSEEN = """() => {
    const element = document.activeElement;
    if (!element || element === document.body) return "";
    const style = getComputedStyle(element);
    const ringed = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
    const canvas = element.matches(".map-list, main");  // it paints a ring itself; the view has no frame
    return ringed || canvas ? "" : element.outerHTML.slice(0, 120);
}"""


def test_dialogs_lists_and_focus_are_accessible_also_in_forced_colours(
    files_dashboard: Visitor, open_page: OpenPage
) -> None:
    page = open_page(files_dashboard, address_of(*CHANGES), reduced_motion="reduce")
    settle(page, "what if")
    page.get_by_role("button", name="Show as kubectl commands").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == []
    page.keyboard.press("Escape")
    walked = {name: SERVED[name] for name in ("map", "pending", "gates", "playground")}

    def check(name: str) -> None:
        page.emulate_media(forced_colors="active")
        for _ in range(12):
            page.keyboard.press("Tab")
            assert page.evaluate(_UNSEEN) == "", name
        page.emulate_media(forced_colors="none")
        for _ in range(6):
            page.keyboard.press("Tab")
            assert page.evaluate(_UNSEEN) == "", name

    walk(page, walked, check)
    page.goto(f"{page.url.partition('#')[0]}#/map")
    box = page.get_by_role("combobox", name="Colour by")
    box.click()
    expect(page.get_by_role("listbox").first).to_be_visible()
    assert violations(page) == []


def test_reduced_motion_leaves_nothing_that_moves(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, "#/map", reduced_motion="reduce")
    settle(page, "map")
    moving = """() => document.getAnimations().filter((one) => {
        const { duration, iterations } = one.effect.getComputedTiming();
        return duration > 1 || iterations === Infinity;
    }).length"""
    assert page.evaluate(moving) == 0


def test_everything_comes_from_the_dashboard_itself(files_dashboard: Visitor) -> None:
    context = files_dashboard.context()
    page = context.new_page()
    asked: list[str] = []
    policies: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("response", lambda response: policies.append(response.headers.get("content-security-policy", "")))
    page.goto(f"{files_dashboard.dashboard.url}#/map")
    walk(
        page, {name: SERVED[name] for name in ("map", "pod", "pending", "what if", "timeline", "gates")}, lambda _: None
    )
    page.goto(f"{page.url.partition('#')[0]}#/playground")
    expect(page.locator("moorage-playground h1")).to_be_visible()
    context.close()
    assert len(asked) > 20
    assert [url for url in asked if not url.startswith((files_dashboard.dashboard.url, "data:", "blob:"))] == []
    # The browser itself refuses everything else, and what is served is what is in the repository: there is no build.
    (policy,) = {policy for policy in policies if policy}
    assert policy.startswith("default-src 'none'; script-src 'self'; ")
    sources = {source for directive in policy.split("; ") for source in directive.split()[1:]}
    assert sources <= {"'none'", "'self'", "data:", "blob:"}
