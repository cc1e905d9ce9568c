"""What policies of the input refuse, warn of and change; webhooks that would be asked."""

from io import BytesIO

from tests.unit.lint.linting import lint, lint_with_outcome, pod, stream, workload
from tests.unit.lint.policy_manifests import MUTATING, RULES, binding, findings, policy

from moorage.lint.catalogue import rules
from moorage.lint.engine import Linter
from moorage.lint.facts.requirements import Acceptance
from moorage.lint.finding import Finding, Severity
from moorage.lint.report.form import describe_operation
from moorage.lint.sources import Source
from moorage.model.gates import default_gates


def test_refused_object_has_the_line_of_the_field() -> None:
    few = policy("few").replace("configmaps", "pods").replace("'true'", "'object.spec.priority == 1'")
    (finding,) = findings(pod("  terminationGracePeriodSeconds: 5\n  priority: 0\n"), few, binding("few"))
    assert (finding.rule, finding.severity, finding.place.line) == ("policy-refuses", Severity.ERROR, 6)
    assert finding.place.path == "spec.priority"
    assert finding.api_server
    assert finding.message == (
        "pods \"web\" is forbidden: ValidatingAdmissionPolicy 'few' with binding 'b-few' denied request: "
        "failed expression: object.spec.priority == 1"
    )


def test_expression_is_named_if_the_message_is_another() -> None:
    few = policy("few").replace("configmaps", "pods")
    few = few.replace("{expression: 'true'}", "{expression: 'object.spec.priority == 1', message: too low}")
    (finding,) = findings(pod(""), few, binding("few"))
    assert finding.message.endswith("denied request: too low")
    assert finding.hint == "the expression is object.spec.priority == 1"


def test_refused_pods_of_a_template_are_told_of_the_workload() -> None:
    few = policy("few").replace("configmaps", "pods").replace("'true'", "'object.spec.hostNetwork != true'")
    (finding,) = findings(few, binding("few"), workload("Deployment", "      hostNetwork: true\n"))
    assert finding.rule == "policy-refuses"
    assert finding.place.path == "spec.template.spec.hostNetwork"
    assert finding.message.startswith("the Deployment is accepted, but its pods will be refused: pods ")


def test_warning_is_a_warning_and_audit_is_nothing() -> None:
    never = policy("never").replace("configmaps", "pods").replace("'true'", "'false'")
    bound = binding("never")
    (finding,) = findings(pod(""), never, bound.replace("Deny", "Warn"))
    assert (finding.rule, finding.severity) == ("policy-warns", Severity.WARNING)
    assert finding.message == ("ValidatingAdmissionPolicy never with binding b-never warns: failed expression: false")
    assert findings(pod(""), never, bound.replace("Deny", "Audit")) == []


def test_mutating_policies_change_objects_before_they_are_validated() -> None:
    label = policy("label", MUTATING).replace("configmaps", "pods")
    label = label.replace(
        'JSONPatch{op: "remove", path: "/data"}', 'JSONPatch{op: "add", path: "/metadata/labels", value: {"a": "b"}}'
    )
    demand = policy("demand").replace("configmaps", "pods").replace("'true'", "'has(object.metadata.labels)'")
    assert findings(pod(""), label, binding("label", MUTATING), demand, binding("demand")) == []
    (finding,) = findings(pod(""), demand, binding("demand"))
    assert finding.rule == "policy-refuses"


def test_template_that_a_policy_changes_is_the_one_that_pods_are_made_of() -> None:
    replicas = "[{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]"
    label = policy("label", MUTATING).replace(RULES, replicas)
    path = "/spec/template/metadata/labels/team"
    label = label.replace(
        'JSONPatch{op: "remove", path: "/data"}', f'JSONPatch{{op: "add", path: "{path}", value: "a"}}'
    )
    demand = policy("demand").replace("configmaps", "pods").replace("'true'", "'\"team\" in object.metadata.labels'")
    plain = workload("Deployment", "")
    assert findings(plain, label, binding("label", MUTATING), demand, binding("demand")) == []
    assert [one.rule for one in findings(plain, demand, binding("demand"))] == ["policy-refuses"]


def test_what_exists_already_is_not_asked_about() -> None:
    never = policy("never").replace("configmaps", "pods").replace("'true'", "'false'")
    assert findings(pod("", metadata=", uid: u"), never, binding("never")) == []


def test_custom_objects_are_asked_about_and_are_parameters() -> None:
    schema = (
        "{openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {most: {type: integer}}}}}}"
    )
    definition = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: limits.g.example.com}\n"
        "spec:\n  group: g.example.com\n  scope: Namespaced\n  names: {plural: limits, kind: Limit}\n"
        f"  versions: [{{name: v1, served: true, storage: true, schema: {schema}}}]\n"
    )
    limit = "apiVersion: g.example.com/v1\nkind: Limit\nmetadata: {name: pods}\nspec: {most: 3}\n"
    of_limits = "[{apiGroups: [g.example.com], apiVersions: [v1], operations: [CREATE], resources: [limits]}]"
    small = policy("small").replace(RULES, of_limits).replace("'true'", "'object.spec.most < 3'")
    (finding,) = findings(limit, definition, small, binding("small"))
    assert (finding.rule, finding.place.path, finding.place.line) == ("policy-refuses", "spec.most", 4)
    kind = "spec:\n  paramKind: {apiVersion: g.example.com/v1, kind: Limit}\n"
    of_pods = policy("most").replace("configmaps", "pods").replace("spec:\n", kind, 1)
    of_pods = of_pods.replace("'true'", "'object.spec.priority < params.spec.most'")
    reference = "  paramRef: {name: pods, parameterNotFoundAction: Deny}\n"
    documents = (limit, definition, of_pods, binding("most") + reference)
    assert findings(pod("  priority: 0\n"), *documents) == []
    missing = findings(pod("  priority: 0\n"), *documents[1:])
    assert [one.rule for one in missing] == ["policy-param-missing"]
    assert missing[0].place.path == "spec.paramRef"


def test_webhooks_are_counted_and_not_called() -> None:
    hook = (
        "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: hooks}\n"
        "webhooks:\n- name: a.example.com\n  admissionReviewVersions: [v1]\n  sideEffects: None\n"
        "  clientConfig: {url: 'https://127.0.0.1:1/'}\n"
        "  rules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]\n"
    )
    found = lint(stream(hook, pod(""), workload("Deployment", "")))
    (finding,) = [one for one in found if one.rule.startswith(("policy-", "webhook-"))]
    assert (finding.rule, finding.severity) == ("webhook-not-called", Severity.INFO)
    assert finding.place.path == "webhooks[0].name"
    assert "might change or refuse 2 objects, and none of them is let in while it does not answer" in finding.message


def test_mutations_are_shown_if_that_is_wanted() -> None:
    label = policy("label", MUTATING).replace("configmaps", "pods")
    label = label.replace(
        'JSONPatch{op: "remove", path: "/data"}', 'JSONPatch{op: "add", path: "/metadata/labels", value: {"a": "b"}}'
    )
    text = stream(label, binding("label", MUTATING), pod(""), workload("Deployment", ""))
    for shows in (False, True):
        linter = Linter(default_gates(), frozenset(rules()), shows_mutations=shows)
        list(linter.lint(Source("0.yaml"), BytesIO(text.encode())))
        list(linter.finish())
        shown = linter.outcome.mutations
        if not shows:
            assert shown is None
            continue
        assert shown is not None
        assert [(one.place.object, one.are_pods, one.source) for one in shown] == [
            ("Pod default/web", False, "MutatingAdmissionPolicy label"),
            ("Deployment default/web", True, "MutatingAdmissionPolicy label"),
        ]
        assert describe_operation(shown[0].patch[0]) == '+ /metadata/labels {"a":"b"}'


def setting(operation: str, path: str, value: str) -> str:
    text = policy("sets", MUTATING).replace("configmaps", "pods").replace("''", "'', apps")
    text = text.replace("[pods]", "[pods, deployments]")
    return text.replace(
        'JSONPatch{op: "remove", path: "/data"}', f'JSONPatch{{op: "{operation}", path: "{path}", value: {value}}}'
    )


def errors(*documents: str) -> list[Finding]:
    return [finding for finding in lint(stream(*documents)) if finding.severity is Severity.ERROR]


def acceptance(*documents: str) -> Acceptance:
    found = lint_with_outcome(stream(*documents), gates=False)[1].acceptance
    assert found is not None
    return found


def test_object_that_a_policy_mends_is_not_refused() -> None:
    wrong = "tolerations: [{key: a, operator: Foo}]\n"
    assert [one.rule for one in errors(pod(f"  {wrong}"))] == ["rejected"]
    mends = setting("replace", "/spec/tolerations/0/operator", '"Exists"'), binding("sets", MUTATING)
    assert errors(pod(f"  {wrong}"), *mends) == []
    assert errors(*mends, pod(f"  {wrong}")) == []
    comparing = "  tolerations: [{key: a, operator: Lt, value: '5'}]\n"
    for document, is_for_ever in ((comparing + "  restartPolicy: Foo\n", True), (comparing, False)):
        assert acceptance(pod(document)).rejected is is_for_ever
    mended = setting("replace", "/spec/restartPolicy", '"Always"'), binding("sets", MUTATING)
    assert not acceptance(pod(f"{comparing}  restartPolicy: Foo\n"), *mended).rejected
    of_template = mends[0].replace("/spec/", "/spec/template/spec/"), mends[1]
    of_template = of_template[0].replace("[pods, ", "["), of_template[1]
    assert errors(workload("Deployment", f"      {wrong}"), *of_template) == []
    assert [one.rule for one in errors(workload("Deployment", f"      {wrong}"))] == ["rejected"]


def test_refusal_of_what_a_policy_has_changed_names_the_policy_at_the_nearest_field() -> None:
    breaks = setting("add", "/metadata/annotations", '{"a b": "c"}'), binding("sets", MUTATING)
    (finding,) = errors(pod(""), *breaks)
    assert (finding.rule, finding.place.path, finding.place.line) == ("rejected", "metadata.annotations", 3)
    assert (
        finding.hint == "MutatingAdmissionPolicy sets changed the object before it was validated: see --show-mutations"
    )


def test_policies_about_services_need_no_other_object() -> None:
    never = policy("never").replace("configmaps", "services").replace("'true'", "'false'")
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 1}]}\n"
    assert [one.rule for one in findings(service, never, binding("never"))] == ["policy-refuses"]


def test_custom_object_that_a_policy_mends_is_not_refused() -> None:
    most = "{type: object, properties: {most: {type: integer, maximum: 5}}}"
    schema = f"{{openAPIV3Schema: {{type: object, properties: {{spec: {most}}}}}}}"
    definition = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: limits.g.example.com}\n"
        "spec:\n  group: g.example.com\n  scope: Namespaced\n  names: {plural: limits, kind: Limit}\n"
        f"  versions: [{{name: v1, served: true, storage: true, schema: {schema}}}]\n"
    )
    limit = "apiVersion: g.example.com/v1\nkind: Limit\nmetadata: {name: pods}\nspec: {most: 9}\n"
    assert [one.rule for one in errors(limit, definition)] == ["rejected"]
    for value, found in (("3", []), ("7", ["rejected"])):
        one = setting("replace", "/spec/most", value).replace("'', apps", "g.example.com")
        sets = one.replace("[pods, deployments]", "[limits]"), binding("sets", MUTATING)
        assert [one.rule for one in errors(limit, definition, *sets)] == found
        assert [one.rule for one in errors(*sets, definition, limit)] == found
