"""Custom objects are linted by the definitions in the input, wherever those stand."""

from __future__ import annotations

from tests.unit.lint.linting import lint, lint_with_outcome, stream

DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1}
              colours: {type: array, items: {type: string}, x-kubernetes-list-type: set}
          status: {type: object}
  - name: v1beta1
    served: true
    storage: false
    deprecated: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v1alpha1
    served: false
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


def widget(spec: str, *, version: str = "v1", metadata: str = "{name: w}") -> str:
    return f"apiVersion: example.com/{version}\nkind: Widget\nmetadata: {metadata}\nspec: {spec}\n"


def test_the_schema_refuses_values_at_their_place() -> None:
    found = lint(stream(DEFINITION, widget("\n  size: 0\n  colours: [red, red]")))
    assert [(finding.rule, finding.message, finding.place.line) for finding in found] == [
        (
            "rejected",
            "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
            38,
        ),
        ("rejected", 'spec.colours[1]: Duplicate value: "red"', 39),
    ]
    assert found[0].place.object == "Widget default/w"


def test_an_object_may_come_before_its_definition_and_in_another_file() -> None:
    found = lint(widget("{size: 1, colour: red}"), DEFINITION)
    assert [(one.rule, one.message, one.place.source) for one in found] == [
        ("unknown-field", 'unknown field "spec.colour"', "0.yaml")
    ]
    assert found[0].place.excerpt.line == "spec: {size: 1, colour: red}"


def test_a_version_that_is_not_served_is_named_with_one_that_is() -> None:
    found = lint(stream(DEFINITION, widget("{size: 1}", version="v1alpha1"), widget("{size: 1}", version="v7")))
    assert [(one.rule, one.hint) for one in found] == [("unserved-version", "write apiVersion: example.com/v1")] * 2


def test_deprecated_versions_and_finalizers_without_a_domain_are_warned_of() -> None:
    found = lint(stream(DEFINITION, widget("{}", version="v1beta1", metadata="{name: w, finalizers: [mine]}")))
    assert [one.message for one in found] == [
        "example.com/v1beta1 Widget is deprecated",
        'metadata.finalizers: "mine": prefer a domain-qualified finalizer name to avoid accidental conflicts with '
        "other finalizer writers",
    ]


def test_metadata_of_the_wrong_type_cannot_be_decoded() -> None:
    (found,) = lint(stream(DEFINITION, widget("{size: 1}", metadata="{name: w, labels: {a: 1}}")))
    assert found.message == (
        'Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number into Go struct field '
        "ObjectMeta.labels of type string"
    )


def test_objects_without_a_definition_are_passed_over() -> None:
    findings, outcome = lint_with_outcome(stream(widget("{}"), widget("{}")))
    assert findings == []
    assert outcome.unchecked_kinds == {"Widget": 2}


def test_the_status_is_left_out_if_it_is_a_subresource() -> None:
    assert lint(stream(DEFINITION, widget("{size: 1}") + "status: 5\n")) == []
