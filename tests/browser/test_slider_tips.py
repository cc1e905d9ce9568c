"""The view "What if" opens on a change that does something, paints only the difference, and goes from turn to turn."""

from playwright.sync_api import expect
from tests.browser.accessibility import violations
from tests.browser.conftest import OpenPage, Visitor
from tests.browser.slider_page import address_of, evicted, expect_number, number, wait_for_answer
from tests.browser.waiting import until

SPOT = "spot.example.com/failure-probability"


def test_it_opens_on_a_change_that_does_something(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, "#/slider")
    wait_for_answer(page)
    expect(page.get_by_role("textbox", name="Value, typed")).to_have_value("5")
    expect(page.get_by_role("status").filter(has_text="1 pod moves")).to_be_visible()
    expect_number(page, "evicted", 1)
    expect(page.locator("[data-number]")).to_have_count(2)  # no zeros
    # What happens anyway has a table of its own, and is in no number.
    anyway = page.get_by_role("table", name="What happens anyway")
    expect(anyway).to_contain_text("next-release")
    expect(anyway).to_contain_text("waits for a node")
    tips = page.get_by_role("region", name="What would do something").get_by_role("button")
    expect(tips.nth(1)).to_contain_text("spot-2 would lose 2 pods of reports at 20")
    heights = "() => [...document.querySelectorAll('.slider-tables .data-scroll')].map((one) => one.offsetHeight)"
    until(page, heights, None, lambda found: max(found) < 80)  # a line each
    tips.nth(1).click()
    expect(page.get_by_role("textbox", name="Value, typed")).to_have_value("20")
    expect_number(page, "pending", 2)
    until(page, heights, None, lambda found: found[0] > 80)  # two pods leave
    grown = page.evaluate(heights)
    tips.nth(0).click()
    expect_number(page, "evicted", 1)
    wait_for_answer(page)
    assert page.evaluate(heights) == grown, "nothing jumps to and fro"
    assert violations(page) == []


def test_rows_open_the_pod_panel_or_say_that_the_pod_does_not_exist_yet(
    files_dashboard: Visitor, open_page: OpenPage
) -> None:
    page = open_page(
        files_dashboard,
        address_of({"taint": {"nodes": ["spot-2"], "key": SPOT, "value": "20", "effect": "NoExecute"}}),
    )
    wait_for_answer(page)
    pod = evicted(page)[0][0]
    page.get_by_role("table", name="Evicted pods").locator("tbody tr[data-index]").first.click()
    page.wait_for_url("**look=**")
    assert "reports" in pod
    row = page.get_by_role("table", name="Pods that would be pending").locator("tbody tr[data-index]").first
    row.click()
    dialog = page.get_by_role("dialog").filter(has_text="does not exist yet")
    expect(dialog).to_be_visible()


def test_alt_and_arrows_go_to_the_next_value_at_which_something_changes(
    files_dashboard: Visitor, open_page: OpenPage
) -> None:
    page = open_page(
        files_dashboard,
        address_of({"taint": {"nodes": ["spot-2"], "key": SPOT, "value": "15", "effect": "NoExecute"}}),
    )
    wait_for_answer(page)
    slider, field = page.get_by_role("slider", name="Value"), page.get_by_role("textbox", name="Value, typed")
    slider.focus()
    slider.press("Alt+ArrowLeft")  # 5 is a threshold of a pod elsewhere: nothing happens there
    expect(page.get_by_text("Nothing changes below 15.").first).to_be_visible()
    expect(field).to_have_value("15")
    slider.press("Alt+ArrowRight")
    expect(field).to_have_value("20")
    wait_for_answer(page)
    slider.press("Alt+ArrowRight")
    expect(page.get_by_text("Nothing changes above 20.").first).to_be_visible()
    page.get_by_role("button", name="To the next change below").click()
    expect(field).to_have_value("19")


def test_added_nodes_are_on_the_map_and_commands_say_what_has_none(
    files_dashboard: Visitor, open_page: OpenPage
) -> None:
    page = open_page(
        files_dashboard,
        address_of({"addNodes": {"count": 2, "like": "ondemand-1"}}, {"drain": "ondemand-1"}),
        viewport={"width": 1280, "height": 900},
    )
    wait_for_answer(page)
    page.wait_for_function("() => document.querySelector('moorage-node-map').tile('ondemand-1-2') !== null")
    expect(number(page, "evicted")).to_be_visible()
    page.get_by_role("button", name="Show as kubectl commands").click()
    dialog = page.get_by_role("dialog", name="As commands")
    expect(dialog).to_contain_text("add 2 nodes like ondemand-1: kubectl has no command.")
    expect(dialog).to_contain_text("kubectl drain ondemand-1")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Take change 1 away").click()
    wait_for_answer(page)
    page.wait_for_function("() => document.querySelector('moorage-node-map').tile('ondemand-1-2') === null")
