"""Findings about lowered objects are about what their users wrote."""

import yaml
from tests.unit.attach.workloads import requirement, term, toleration
from tests.unit.lint.linting import lint
from tests.unit.plan.attached_worlds import ABOVE_950, deployment, forged, spot
from tests.unit.plan.planning import Raw

from moorage.lint.finding import Finding


def findings_of(*documents: Raw) -> list[Finding]:
    return lint("\n---\n".join(yaml.safe_dump(each, width=10_000) for each in documents), gates=False)


EXPRESSION = toleration("CEL", "taint.value.startsWith('a')", key="gpu", effect="NoSchedule")
NODE = spot("low", "900", driver="1.9")
AFFINITY = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [term(requirement("driver", "SemverGt", "2.0"))]
    }
}


def test_thresholds_are_compared_with_taints() -> None:
    found = findings_of(NODE, deployment("train", ABOVE_950))
    assert [(one.rule, one.hint) for one in found] == [
        ("toleration-matches-no-taint", "write Gt 899 to match the nearest taint, spot=900")
    ]
    assert "900 > 950 is false (toleration Gt 950)" in found[0].message
    assert found[0].place.path.endswith("tolerations[0].value")


def test_places_are_those_of_the_lowered_list() -> None:
    (found,) = findings_of(NODE, deployment("train", ABOVE_950))
    assert "tolerations:" in str(found.place.excerpt)


def test_an_expression_is_asked_about_its_key_only() -> None:
    assert not [one for one in findings_of(deployment("train", EXPRESSION)) if one.rule == "cel-ignores-key"]


def test_versions_of_node_labels_are_compared_as_written() -> None:
    found = findings_of(NODE, deployment("train", affinity={"nodeAffinity": AFFINITY}))
    (unmatched,) = [one for one in found if one.rule == "node-selector-unmatched"]
    assert "1.9 > 2.0 is false" in unmatched.message
    assert "moorage.dev" not in unmatched.message


def test_what_is_forged_is_checked_as_it_is_written() -> None:
    made = deployment("train", ABOVE_950)
    forged(made["spec"]["template"], "950", "1")
    (found,) = findings_of(NODE, made)
    assert "num.noschedule.taint.moorage.dev/spot" in found.message
