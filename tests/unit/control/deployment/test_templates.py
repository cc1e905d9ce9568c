"""Which templates are the same, and what they are called."""

import re

from tests.unit.control.workloads import deployment, seen, template

from moorage.control.deployment.rollout import is_same_template
from moorage.control.framework.workloads import template_hash
from moorage.model.generated_names import safe_encode
from moorage.model.types.pod import PodTemplateSpec
from moorage.model.well_known.labels import POD_TEMPLATE_HASH


def _view(image: str = "one", **labels: str) -> PodTemplateSpec:
    raw = deployment("d", 1, image)
    raw["spec"]["template"]["metadata"]["labels"] |= labels
    found: PodTemplateSpec = seen(raw).view.spec.template
    return found


def test_templates_are_the_same_but_for_the_hash() -> None:
    assert is_same_template(_view(), _view())
    assert is_same_template(_view(), _view(**{POD_TEMPLATE_HASH: "x"}))
    assert not is_same_template(_view(), _view("two"))
    assert not is_same_template(_view(), _view(tier="web"))


def test_the_hash_depends_on_content_and_collisions_and_not_on_order() -> None:
    one = template("d")
    turned = dict(reversed(one.items()))
    assert template_hash(one, None) == template_hash(turned, None)
    assert len({template_hash(one, count) for count in (None, 0, 1, 2)}) == 4
    assert template_hash(one, None) != template_hash(template("e"), None)
    assert re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{1,10}", template_hash(one, None))


def test_digits_become_safe_letters() -> None:
    assert safe_encode("0123456789") == "456789bcdf"
