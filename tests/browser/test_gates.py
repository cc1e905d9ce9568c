"""The view "Gates" in a real browser: the matrix, half-enabled gates, and what depends on a gate."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.accessibility import violations
from tests.browser.conftest import OpenPage, Visitor
from tests.browser.dashboard_process import moorage_dashboard
from tests.e2e.forked_command import forked_moorage
from tests.e2e.running_cluster import Cluster, moorage_up

CEL = "TaintTolerationCEL"
SEMVER = "TaintTolerationNodeAffinitySemverComparisonOperators"


def moorage(*arguments: str) -> Any:
    """What a command prints as JSON; an audit that finds anything ends with 1."""
    ran = forked_moorage(arguments)
    assert ran.returncode in (0, 1), ran.stderr
    return json.loads(ran.stdout)


def asked(page: Page, question: str, arguments: dict[str, Any]) -> Any:
    """The last part of an answer, as the page would get it."""
    text = page.evaluate(
        "([question, body]) => fetch(`/api/ask/${question}`, {method: 'POST', body: JSON.stringify(body),"
        " headers: {'Content-Type': 'application/json'}}).then((answer) => answer.text())",
        [question, arguments],
    )
    return json.loads(text.splitlines()[-1])


def known_gates(page: Page) -> int:
    return int(page.evaluate("async () => (await (await fetch('/api/gates')).json()).gates.length"))


def matrix_of(page: Page) -> dict[str, list[str]]:
    """The words in the cells of the components, by gate."""
    rows = page.locator(".gate-table tbody tr:has(.gate-name)")
    return {
        row.locator(".gate-name").inner_text(): [cell.strip() for cell in row.locator(".gate-value").all_inner_texts()]
        for row in rows.all()
    }


def test_the_matrix_is_what_the_command_prints(
    live_dashboard: Visitor, live_cluster: Cluster, open_page: OpenPage
) -> None:
    page = open_page(live_dashboard, "#/gates?all=1")
    expect(page.get_by_text("components agree")).to_be_visible()
    expect(page.locator(".gate-fold")).to_be_visible()
    printed = moorage("gates", "--kubeconfig", str(live_cluster.kubeconfig), "-o", "json")
    components = ["kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubelet"]
    words = {True: "on", False: "off", None: "?"}
    shown = matrix_of(page)
    assert shown.keys() <= printed.keys()
    assert len(shown) == known_gates(page) > 30
    for name, cells in shown.items():
        wanted = [words[printed[name][one]] if one in printed[name] else "–" for one in components]
        assert [cell.split("\n")[0] for cell in cells] == wanted, name
    assert [kep["standing"] for kep in printed["keps"]] == ["native"] * 3
    expect_keps(page, printed)


def expect_keps(page: Page, printed: Any) -> None:
    """The page has the KEPs as the command prints them: each with its state and the reason, and a link to its gate."""
    cards = page.locator(".gate-kep")
    expect(cards).to_have_count(len(printed["keps"]))
    for card, kep in zip(cards.all(), printed["keps"], strict=True):
        expect(card.locator(".chip")).to_contain_text(kep["standing"])
        expect(card.get_by_role("link", name=kep["kep"])).to_have_attribute("href", re.compile(f"gate={kep['gate']}"))
        expect(card).to_contain_text(kep["feature"])
        expect(card).to_contain_text(kep["why"])


def test_gates_in_use_come_first_and_the_others_are_folded(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, "#/gates", viewport={"width": 1280, "height": 800})
    names = page.locator(".gate-name")
    every = known_gates(page)
    fold = page.get_by_role("button", name=f"{every - 6} more gates, not used in this cluster", expanded=False)
    expect(fold).to_be_visible()
    used = matrix_of(page)
    assert list(used)[:2] == [SEMVER, "TaintTolerationComparisonOperators"]
    assert len(used) == 6
    # The pane is about the gate whose loss most objects would notice, without a click.
    expect(page.get_by_role("heading", level=2, name=SEMVER)).to_be_visible()
    expect(page.locator(".gate-detail")).to_contain_text("On in all 4 components that read it.")
    assert [head.inner_text().replace("\n", "") for head in page.locator(".gate-table .gate-head").all()] == [
        "kube-apiserver",
        "kube-scheduler",
        "kube-controller-manager",
        "kubelet",
    ]
    assert page.locator(".gate-table td[title='kube-scheduler']").count() == 6
    page.get_by_label("Find").fill("AdminAccess")
    expect(names).to_have_text(["DRAAdminAccess"])
    page.get_by_label("Find").fill("no such gate")
    expect(page.get_by_text("No gate matches")).to_be_visible()
    page.get_by_label("Find").fill("")
    expect(names).to_have_count(6)
    fold.focus()
    page.keyboard.press("Enter")
    expect(names).to_have_count(every)
    expect(page).to_have_url(re.compile("all=1"))
    page.get_by_role("link", name="DRAAdminAccess").click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name=f"{every - 6} more gates", expanded=True).click()
    expect(names).to_have_count(6)
    page.set_viewport_size({"width": 390, "height": 800})
    expect(page.locator(".gate-detail")).to_be_hidden()
    expect(page.locator(".gate-legend")).to_contain_text("CM kube-controller-manager")
    heads = page.get_by_role("columnheader")
    expect(heads.filter(has_text="kube-scheduler")).to_have_accessible_name("kube-scheduler")


def test_the_audit_is_that_of_the_command(live_dashboard: Visitor, live_cluster: Cluster, open_page: OpenPage) -> None:
    page = open_page(live_dashboard, f"#/gates?gate={CEL}")
    printed = moorage("gates", "audit", "--kubeconfig", str(live_cluster.kubeconfig), "-o", "json")
    answer = asked(page, "audit", {})
    assert {"gates": answer["gates"], "breaks": answer["breaks"]} == printed
    findings = next(gate["findings"] for gate in printed["gates"] if gate["name"] == CEL)
    affected = sum(finding["breaks"] for finding in findings)
    assert len(findings) > affected > 0
    detail = page.locator(".gate-detail")
    expect(detail).to_contain_text(f"{len(findings)} objects depend on it; {affected} would notice")
    for finding in findings:
        for consequence in finding["consequences"]:
            group = detail.locator(".gate-group").filter(has_text=consequence["text"])
            expect(
                group.filter(has_text=f"{finding['kind']} {finding['namespace']}/{finding['name']}")
            ).not_to_have_count(0)


def test_the_audit_of_files_is_that_of_the_command(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, f"#/gates?gate={SEMVER}")
    printed = moorage("gates", "audit", "--gate", SEMVER, "-o", "json", "examples/cluster")
    answer = asked(page, "audit", {"gate": SEMVER})
    found = [(finding["kind"], finding["name"], finding["consequences"]) for finding in answer["gates"][0]["findings"]]
    assert found == [
        (finding["kind"], finding["name"], finding["consequences"]) for finding in printed["gates"][0]["findings"]
    ]
    assert found
    expect(page.locator(".gate-steps > li strong")).to_have_text(printed["gates"][0]["disableOrder"])
    expect(page.get_by_text("no cluster was asked")).to_be_visible()


def test_gates_are_found_and_chosen_by_keyboard(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, "#/gates")
    page.get_by_label("Find").fill("devices that several")
    expect(page.locator(".gate-name")).to_have_text(["DRAConsumableCapacity"])
    expect(page.locator(".gate-kep")).to_have_count(0)
    page.get_by_label("Find").fill("")
    page.get_by_label("Show", exact=True).select_option("used")
    expect(page.locator(".gate-table tbody tr").filter(has_text="none")).to_have_count(0)
    link = page.get_by_role("link", name="MatchLabelKeysInPodAffinity")
    link.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="MatchLabelKeysInPodAffinity")).to_be_visible()
    expect(page).to_have_url(re.compile("gate=MatchLabelKeysInPodAffinity"))
    expect(page.locator(".gate-detail")).to_contain_text("docs/runbooks/MatchLabelKeysInPodAffinity.md")


def test_a_half_enabled_gate_is_warned_about(browser: Browser, tmp_path: Path, open_page: OpenPage) -> None:
    gates = (f"--feature-gates={CEL}=true", f"--kubelet-feature-gates={CEL}=false")
    with moorage_up(tmp_path, "--nodes", "1", *gates) as cluster:
        (tmp_path / "logs").mkdir()
        with moorage_dashboard(tmp_path / "logs", "--kubeconfig", str(cluster.kubeconfig)) as dashboard:
            page = open_page(Visitor(browser, dashboard), "", viewport={"width": 1280, "height": 800})
            page.get_by_role("link", name="1 gate differs between components: which?").click()
            expect(page.get_by_text("1 gate differs between components")).to_be_hidden()
            warning = page.locator(".gate-warning")
            expect(warning).to_contain_text(
                f"{CEL} is on in kube-apiserver, kube-scheduler and kube-controller-manager, off in kubelet"
            )
            expect(warning).to_contain_text("refused by their node (phase Failed)")
            expect(warning).to_contain_text(
                "What to do: Turn it on in kubelet; or, if what depends on it may go, off in"
            )
            expect(page.locator(".gate-table tbody tr").first).to_contain_text(f"{CEL} !differs")
            expect(page.locator(".gate-value.skew")).to_have_text("off")
            expect(page.locator(".gate-detail")).to_contain_text("; off in kubelet.")
            printed = moorage("gates", "--kubeconfig", str(cluster.kubeconfig), "-o", "json")
            assert [kep["standing"] for kep in printed["keps"]] == ["absent"] * 3
            expect_keps(page, printed)
            expect(page.get_by_text("moorage attach install brings the 3 KEPs that are absent")).to_be_visible()
            assert violations(page) == []
            page.get_by_role("link", name=f"What depends on {CEL}").click()
            expect(page.locator(".gate-detail")).to_contain_text("No object uses what this gate guards.")
            page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_is_accessible(files_dashboard: Visitor, open_page: OpenPage, width: int, scheme: str) -> None:
    page = open_page(
        files_dashboard, f"#/gates?gate={CEL}", viewport={"width": width, "height": 800}, color_scheme=scheme
    )
    expect(page.locator(".gate-group").first).to_be_visible()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
