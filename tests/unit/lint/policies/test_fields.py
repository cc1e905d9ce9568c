"""The field that an expression of a policy is about."""

import pytest

from moorage.lint.policies.fields import field_of

DOCUMENT = {
    "metadata": {"name": "web", "labels": {"app": "web", "a/b": "c"}},
    "spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "c"}]}}},
}
VARIABLES = {
    "replicas": "object.spec.replicas",
    "pod": "object.spec.template.spec",
    "images": "variables.pod.containers.map(c, c.image)",
    "again": "variables.again",
}


@pytest.mark.parametrize(
    ("expression", "field"),
    [
        ("object.spec.replicas <= 5", "spec.replicas"),
        ("object.metadata.name != 'x' && object.spec.replicas <= 5", "spec.replicas"),
        ("object.metadata.name != 'x'", "metadata.name"),
        ("!has(object.spec.absent) || object.spec.replicas == 1", "spec.replicas"),
        ("has(object.spec.absent)", "spec.absent"),
        ("object.spec.template.spec.containers.all(c, c.image.startsWith('x'))", "spec.template.spec.containers"),
        ("object.spec.template.spec.containers[0].name == 'c'", "spec.template.spec.containers[0].name"),
        ("object.?spec.?replicas.orValue(1) > 1", "spec.replicas"),
        ("object.metadata.labels['a/b'] == 'c'", "metadata.labels"),
        ("object.metadata.labels['app'] == 'web'", "metadata.labels.app"),
        ("variables.replicas <= 5", "spec.replicas"),
        ("variables.pod.containers.size() > 1", "spec.template.spec.containers"),
        ("variables.images.all(i, i == 'x')", "spec.template.spec.containers"),
        ("variables.again == 1", ""),
        ("object == oldObject", ""),
        ("request.userInfo.username == 'alice'", ""),
        ("oldObject.spec.replicas == 1", ""),
        ("object.spec.", ""),
        ("", ""),
    ],
)
def test_field_is_the_first_that_is_read_below_spec(expression: str, field: str) -> None:
    assert field_of(expression, VARIABLES, DOCUMENT) == field
