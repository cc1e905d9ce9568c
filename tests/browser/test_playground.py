"""The playground in a real browser: typing, completion, problems, nodes, forms, gates, sharing, accessibility."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect
from tests.browser.accessibility import violations
from tests.browser.conftest import OpenPage, Visitor
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import Cluster

from moorage.dashboard.questions import QUESTIONS, Base
from moorage.dashboard.questions.base import parts_of
from moorage.lint.sources import sources_of
from moorage.model.gates import all_gates
from moorage.plan.planner import Planner, Settings

_RULE = '- key: spot.example.com/failure-probability\n  operator: Lt\n  value: "5"\n  effect: NoExecute\n'


@pytest.fixture
def page(files_dashboard: Visitor, open_page: OpenPage) -> Page:
    page = open_page(files_dashboard, "#/playground")
    expect(page.get_by_role("heading", name="nodes match")).to_be_visible()
    return page


def editor(page: Page) -> Any:
    return page.get_by_role("textbox", name="Rule", exact=True)


def write(page: Page, text: str, summary: str) -> None:
    editor(page).fill(text)
    expect(page.locator(".match-summary")).to_have_text(summary)


def test_the_answer_is_that_of_the_question(page: Page) -> None:
    planner = Planner(Settings(all_gates()))
    planner.load(sources_of(["examples/cluster"]))
    parts = parts_of(QUESTIONS["playground"], Base(planner, planner.build()), {"kind": "tolerations", "text": _RULE})
    wanted: dict[str, Any] = {}
    for part in parts:
        wanted |= part
    write(page, _RULE, "3 of 8 nodes match.")
    groups = page.locator(".match-group")
    expect(groups).to_have_count(len(wanted["nodes"]["groups"]))
    for index, group in enumerate(wanted["nodes"]["groups"]):
        shown = groups.nth(index)
        assert shown.locator(".node-name").all_inner_texts() == group["nodes"]
        for reason in group["reasons"]:
            expect(shown).to_contain_text(reason)
    spot = groups.filter(has_text="spot-2")
    expect(spot).to_contain_text("15 < 5 is false (toleration Lt 5)")
    expect(spot).to_contain_text("a pod there is evicted at once")


def test_a_problem_is_underlined_listed_and_found(page: Page) -> None:
    editor(page).fill(
        "- expression: |\n    taint.key == 'a' &&\n    taint.foo\n- {key: b, operator: Gte, value: '1'}\n"
    )
    expect(page.locator(".squiggle.error")).to_have_text(["foo", "Gte"])
    problems = page.locator(".problem-button")
    expect(problems).to_have_count(2)
    described = editor(page).get_attribute("aria-describedby").split()
    assert page.locator(".problems").get_attribute("id") in described
    expect(editor(page)).to_have_attribute("aria-invalid", "true")
    problems.first.click()
    selected = "element => element.value.slice(element.selectionStart, element.selectionEnd)"
    assert editor(page).evaluate(selected) == "foo"
    expect(page.locator(".cursor-line")).to_contain_text("undefined field 'foo'")


def test_completion_by_keyboard(page: Page) -> None:
    page.get_by_role("button", name="CEL expression").click()
    area = editor(page)
    area.fill("")
    area.press_sequentially("taint.va")
    options = page.get_by_role("listbox", name="Completions").get_by_role("option")
    expect(options.first).to_contain_text("value")
    chosen = options.first.get_attribute("id")
    expect(area).to_have_attribute("aria-activedescendant", str(chosen))
    page.keyboard.press("Enter")
    expect(area).to_have_value("taint.value")
    area.press_sequentially(" == 'ye")
    expect(options).to_have_text(["“”yes2 nodes"])
    page.keyboard.press("Escape")
    expect(page.locator(".completion-box")).to_be_hidden()
    page.keyboard.press("Control+Space")
    expect(page.locator(".completion-box")).to_be_visible()
    page.keyboard.press("Tab")
    expect(area).to_have_value("taint.value == 'yes'")
    expect(page.locator(".match-summary")).to_have_text("4 of 8 nodes match.")


def test_tab_indents_and_after_escape_leaves(page: Page) -> None:
    area = editor(page)
    area.fill("- key: q")  # nothing completes it: Enter and Tab are the editor's
    page.keyboard.press("Enter")
    expect(area).to_have_value("- key: q\n  ")
    page.keyboard.press("Tab")
    expect(area).to_have_value("- key: q\n    ")
    page.keyboard.press("Shift+Tab")
    expect(area).to_have_value("- key: q\n  ")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(area).not_to_be_focused()
    expect(area).to_have_value("- key: q\n  ")


def test_enter_takes_the_completion_for_all_that_is_typed(page: Page) -> None:
    """Letters that are typed before the next answer is there belong to the word that is completed."""
    page.get_by_role("button", name="CEL expression").click()
    area = editor(page)
    area.fill("")
    area.press_sequentially("taint.v")
    options = page.get_by_role("listbox", name="Completions").get_by_role("option")
    expect(options.first).to_contain_text("value")
    held: list[Route] = []
    page.route("**/api/ask/complete", lambda route: held.append(route))
    area.press_sequentially("al")
    expect(options).to_have_count(1)
    page.keyboard.press("Enter")
    expect(area).to_have_value("taint.value")
    area.press_sequentially(" ==")
    expect(page.locator(".completion-box")).to_be_hidden()
    for route in held:
        route.abort()


def test_forms_stand_side_by_side_and_can_be_tried(page: Page) -> None:
    write(page, _RULE, "3 of 8 nodes match.")
    card = page.locator('.form-card[data-form="expression"]')
    expect(card).to_contain_text("exactly the same")
    expect(card).to_contain_text("int(taint.value) < 5")
    expect(page.locator('.form-card[data-form="version"]')).to_contain_text("the same here, not everywhere")
    expect(page.locator('.form-card[data-form="number"]')).to_contain_text("as written")
    card.get_by_role("button", name="Try this form").click()
    expect(editor(page)).to_have_value(
        "- expression: \"taint.key == 'spot.example.com/failure-probability' && "
        "taint.effect == 'NoExecute' && taint.value.matches('^(0|-?[1-9][0-9]*)$') && int(taint.value) < 5\"\n"
    )
    expect(page.locator(".match-summary")).to_have_text("3 of 8 nodes match.")
    expect(page.locator('.form-card[data-form="number"]')).to_contain_text("exactly the same")
    expect(page.locator(".cost")).to_contain_text("limit 1,000,000")


def test_a_gate_can_be_tried_off_and_what_it_says_is_shown(page: Page) -> None:
    write(page, _RULE, "3 of 8 nodes match.")
    gate = page.get_by_role("region", name="TaintTolerationComparisonOperators", exact=True)
    gate.get_by_role("checkbox").uncheck()
    expect(page.locator(".match-summary")).to_have_text("2 of 8 nodes match.")
    expect(gate).to_contain_text('Unsupported value: "Lt": supported values: "Equal", "Exists", "Lt", "Gt"')
    page.get_by_role("button", name="Try as if on").click()
    expect(page.locator(".match-summary")).to_have_text("3 of 8 nodes match.")


def test_pasted_nodes_and_strings_of_any_kind_are_text(page: Page) -> None:
    page.get_by_role("button", name="Pasted nodes").click()
    page.get_by_label("One node in a line").fill("<img/src=x/onerror=alert(1)> sla=5:NoSchedule <b>oops</b>\nn2")
    write(page, '- {key: sla, operator: Gt, value: "<script>"}', "1 of 2 nodes match.")
    expect(page.locator(".paste-problems")).to_contain_text("<b>oops</b> is neither a taint")
    assert page.locator("main img, main script, main b").count() == 0


def test_the_address_holds_the_rule(page: Page, files_dashboard: Visitor, open_page: OpenPage) -> None:
    page.get_by_label("Examples").select_option(label="A kernel above 5.15")
    expect(page.locator(".match-summary")).to_have_text("2 of 5 nodes match.")
    text = editor(page).input_value()
    expect(page).to_have_url(re.compile("kind=cel.*taints="))
    other = open_page(files_dashboard, "#" + page.url.partition("#")[2])
    expect(editor(other)).to_have_value(text)
    expect(other.locator(".match-summary")).to_have_text("2 of 5 nodes match.")
    expect(other.get_by_role("button", name="Pasted nodes")).to_have_attribute("aria-pressed", "true")


def test_the_last_answer_stays_while_a_rule_cannot_be_read(page: Page) -> None:
    write(page, _RULE, "3 of 8 nodes match.")
    editor(page).fill(_RULE + "- key: [")
    expect(page.locator("moorage-playground")).to_have_class("view stale")
    expect(page.locator(".match-summary")).to_have_text("3 of 8 nodes match.")
    write(page, "- operator: Exists\n", "8 of 8 nodes match.")
    expect(page.locator("moorage-playground")).to_have_class("view")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1300])
def test_it_is_accessible_and_fits(files_dashboard: Visitor, open_page: OpenPage, width: int, scheme: str) -> None:
    viewport = {"width": width, "height": 800}
    page = open_page(files_dashboard, "#/playground", viewport=viewport, color_scheme=scheme)
    editor(page).fill("- expression: \"taint.key == 'a' && foo\"\n- {key: b, operator: Lt, value: '1'}\n")
    expect(page.locator(".squiggle.error")).to_be_visible()
    expect(page.locator(".form-card").first).to_be_visible()
    editor(page).press("Control+End")
    editor(page).press_sequentially("- op")
    expect(page.locator(".completion-box")).to_be_visible()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_live_cluster_is_followed(live_cluster: Cluster, live_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(live_dashboard, "#/playground")
    write(page, _RULE, "3 of 8 nodes match.")
    kubectl = Kubectl(live_cluster.kubeconfig, live_cluster.home)
    kubectl("taint node spot-2 spot.example.com/failure-probability=4:NoExecute --overwrite")
    expect(page.locator(".match-summary")).to_have_text("4 of 8 nodes match.")


def test_a_text_of_another_kind_is_read_so_with_one_click(page: Page) -> None:
    editor(page).fill(
        "nodeSelectorTerms:\n- matchExpressions:\n  - {key: example.com/pool, operator: In, values: [spot]}\n"
    )
    expect(page.locator(".problems")).to_contain_text("It looks like an affinity.")
    page.get_by_role("button", name="Read it so").click()
    expect(page.get_by_role("button", name="Affinity")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".problems")).to_contain_text("No problems")
    expect(page.locator(".match-summary")).to_have_text("2 of 8 nodes match.")


def test_a_text_that_is_not_judged_keeps_no_old_problems(page: Page) -> None:
    editor(page).fill("- {key: b, operator: Gte, value: '1'}\n")
    expect(page.locator(".squiggle.error")).to_have_text(["Gte"])
    editor(page).fill("x" * 70_000)
    expect(page.locator(".problems")).to_contain_text("text is longer than 64 KiB")
    expect(page.locator(".squiggle.error")).to_have_count(0)


def test_a_policy_is_explained_for_an_object(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, "#/playground")
    page.get_by_role("button", name="Admission policy").click()
    expect(page.locator(".policy-summary")).to_have_text("Refused by policy")
    results = page.locator(".policy-results")
    expect(results).to_contain_text("denied request: at most 2 replicas here")
    expect(results).to_contain_text("object.spec.replicas → 3")
    expect(results).to_contain_text("spec.validations[0].expression → false")
    subject = page.get_by_role("textbox", name="Object", exact=True)
    subject.fill(subject.input_value().replace("replicas: 3", "replicas: 2"))
    expect(page.locator(".policy-summary")).to_have_text("Allowed")
    policies = page.get_by_role("textbox", name="Policies, bindings and parameters", exact=True)
    policies.fill(policies.input_value().replace("object.spec", "objet.spec"))
    expect(page.locator(".squiggle.error")).to_have_text(["objet"])
    expect(page.locator(".policy-summary")).to_have_text("Not judged")
    expect(page).to_have_url(re.compile("kind=policy.*policies="))
    page.get_by_role("button", name="Tolerations").click()
    expect(page.get_by_role("heading", name="nodes match")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_policies_are_accessible_and_fit_a_phone(files_dashboard: Visitor, open_page: OpenPage, scheme: str) -> None:
    viewport = {"width": 390, "height": 800}
    page = open_page(files_dashboard, "#/playground?kind=policy", viewport=viewport, color_scheme=scheme)
    expect(page.locator(".policy-summary")).to_have_text("Refused by policy")
    page.get_by_label("Examples").select_option(label="matchLabelKeys in every required anti-affinity")
    expect(page.locator(".policy-results")).to_contain_text('["pod-template-hash"]')
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
