from typing import Any

import pytest

from moorage.match.label_selector import parse_selector
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.serve.resources.selector_parameters import ManyLabels, compile_field_selector, compile_label_selector

Raw = dict[str, Any]


def matches(kind: str, text: str, raw: Raw, api_version: str = "v1") -> bool:
    matcher = compile_field_selector(KINDS[api_version, kind], text)
    return matcher is None or matcher.matches(raw)


def complaint(text: str, kind: str = "Pod", api_version: str = "v1") -> str:
    with pytest.raises(ApiError) as raised:
        compile_field_selector(KINDS[api_version, kind], text)
    assert (raised.value.code, raised.value.reason) == (400, "BadRequest")
    return raised.value.message


POD: Raw = {
    "metadata": {"name": "p", "namespace": "ns"},
    "spec": {"nodeName": "n1", "restartPolicy": "Always", "schedulerName": "s", "serviceAccountName": "sa"},
    "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}], "nominatedNodeName": "n2"},
}
CERTIFICATES = "certificates.k8s.io/v1"
BARE: Raw = {"metadata": {"name": "p"}}


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("", True),
        (",", True),
        ("metadata.name=p", True),
        ("metadata.name==p", True),
        ("metadata.name!=p", False),
        ("metadata.name=q", False),
        ("metadata.namespace=ns,status.phase=Running", True),
        ("metadata.namespace=ns,status.phase!=Running", False),
        ("spec.nodeName=n1", True),
        ("spec.host=n1", True),
        ("spec.nodeName=", False),
        ("spec.nodeName!=", True),
        ("spec.restartPolicy=Always", True),
        ("spec.schedulerName=s", True),
        ("spec.serviceAccountName=sa", True),
        ("spec.hostNetwork=false", True),
        ("spec.hostNetwork=true", False),
        ("status.podIP=10.0.0.1", True),
        ("status.podIPs=10.0.0.1", False),
        ("status.nominatedNodeName=n2", True),
    ],
)
def test_pods(text: str, answer: bool) -> None:
    assert matches("Pod", text, POD) is answer


def test_what_is_absent_is_empty() -> None:
    assert matches("Pod", "spec.nodeName=,status.phase=,status.podIP=,spec.hostNetwork=false", BARE)
    assert matches("Pod", "spec.hostNetwork=true", {**BARE, "spec": {"hostNetwork": True}})


EVENT = {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "uid": "u"}, "type": "Warning", "reason": "R"}


@pytest.mark.parametrize(
    ("api_version", "kind", "text", "raw", "answer"),
    [
        ("v1", "Node", "spec.unschedulable=false", BARE, True),
        ("v1", "Node", "spec.unschedulable=true", {**BARE, "spec": {"unschedulable": True}}, True),
        ("v1", "Namespace", "status.phase=Active", {**BARE, "status": {"phase": "Active"}}, True),
        ("v1", "Secret", "type=Opaque", {**BARE, "type": "Opaque"}, True),
        ("v1", "Service", "spec.type!=ClusterIP", {**BARE, "spec": {"type": "ClusterIP"}}, False),
        ("v1", "Service", "spec.clusterIP=None", {**BARE, "spec": {"clusterIP": "None"}}, True),
        ("v1", "Event", "involvedObject.kind=Pod,involvedObject.uid=u,type=Warning,reason=R", EVENT, True),
        ("v1", "Event", "source=me", {**EVENT, "source": {"component": "me"}, "reportingComponent": "you"}, True),
        ("v1", "Event", "source=you", {**EVENT, "source": {}, "reportingComponent": "you"}, True),
        ("events.k8s.io/v1", "Event", "regarding.name=p", {**BARE, "regarding": {"name": "p"}}, True),
        ("events.k8s.io/v1", "Event", "reportingController=c", {**BARE, "reportingController": "c"}, True),
        ("batch/v1", "Job", "status.successful=0", BARE, True),
        ("v1", "ReplicationController", "status.replicas=0", BARE, True),
        ("v1", "ReplicationController", "status.replicas!=2", {**BARE, "status": {"replicas": 2}}, False),
        (
            CERTIFICATES,
            "CertificateSigningRequest",
            "spec.signerName=a/b",
            {**BARE, "spec": {"signerName": "a/b"}},
            True,
        ),
        (
            CERTIFICATES,
            "CertificateSigningRequest",
            "spec.signerName=a/b",
            {**BARE, "spec": {"signerName": "c"}},
            False,
        ),
        ("batch/v1", "Job", "status.successful=3", {**BARE, "status": {"succeeded": 3}}, True),
        ("apps/v1", "Deployment", "metadata.name=p", BARE, True),
    ],
)
def test_other_kinds(api_version: str, kind: str, text: str, raw: Raw, answer: bool) -> None:
    assert matches(kind, text, raw, api_version) is answer


@pytest.mark.parametrize(
    ("text", "value"),
    [(r"a\,b", "a,b"), (r"a\=b", "a=b"), (r"a\\b", "a\\b"), (r"\\\,", "\\,")],
)
def test_escapes(text: str, value: str) -> None:
    assert matches("Pod", f"metadata.name={text},metadata.namespace=", {"metadata": {"name": value}})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("spec.image=x", "field label not supported: spec.image"),
        ("=x", "field label not supported: "),
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("metadata.name=a,b", "invalid selector: 'metadata.name=a,b'; can't understand 'b'"),
        ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
        (r"metadata.name=a\b", r"invalid field selector: invalid escape sequence: \b"),
        ("metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_complaints(text: str, said: str) -> None:
    assert complaint(text) == said


def test_kinds_complain_differently() -> None:
    slices = "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.pool"
    assert complaint("spec.pool=1", "ResourceSlice", "resource.k8s.io/v1") == slices
    assert complaint("status.x=1", "Job", "batch/v1") == 'field label "status.x" not supported for Job'
    assert complaint("metadata.namespace=x", "Node") == "field label not supported: metadata.namespace"
    said = '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"'
    assert complaint("spec.x=1", "Deployment", "apps/v1") == said


@pytest.mark.parametrize(
    ("text", "name", "is_only_name"),
    [
        ("metadata.name=a", "a", True),
        ("metadata.name!=a", "", False),
        ("metadata.name=", "", False),
        ("metadata.name=a,spec.nodeName=n", "a", False),
        ("metadata.name=a,metadata.name=b", "a", False),
        ("spec.nodeName=n", "", False),
    ],
)
def test_a_field_selector_for_one_name_is_recognised(text: str, name: str, is_only_name: bool) -> None:
    matcher = compile_field_selector(KINDS.POD, text)
    assert matcher is not None
    assert (matcher.name, matcher.is_only_name) == (name, is_only_name)


def test_label_selectors() -> None:
    assert compile_label_selector("") is None
    selector = compile_label_selector("app in (a,b),!old")
    assert selector is not None
    assert selector.match({"app": "a"})
    assert not selector.match({"app": "a", "old": ""})
    with pytest.raises(ApiError) as raised:
        compile_label_selector("a b")
    assert raised.value.code == 400
    assert raised.value.message.startswith("unable to parse requirement: found 'b', expected: ")


@pytest.mark.parametrize("text", ["a=1", "a!=1", "a in (1,2)", "a notin (1,2)", "a", "!a", "a>1", "a<5,b", "x!=1,!y"])
def test_many_requirements_select_what_few_of_them_do(text: str) -> None:
    many = compile_label_selector(text + "".join(f",!none-{i}" for i in range(20)))
    few = parse_selector(text)
    assert isinstance(many, ManyLabels)
    sets: list[dict[str, str]] = [{}, {"a": "1"}, {"a": "3"}, {"a": "3", "b": ""}, {"b": "1"}, {"a": "x"}, {"y": ""}]
    for labels in sets:
        assert many.match(labels) == few.match(labels), labels
    assert not many.match({"none-3": ""})


def test_many_fields_select_what_few_of_them_do() -> None:
    pod = KINDS.POD
    many = compile_field_selector(pod, ",".join(f"metadata.name!=n{i}" for i in range(20)) + ",spec.nodeName=a")
    assert many is not None
    assert many.matches({"metadata": {"name": "m"}, "spec": {"nodeName": "a"}})
    assert not many.matches({"metadata": {"name": "n7"}, "spec": {"nodeName": "a"}})
    assert not many.matches({"metadata": {"name": "m"}, "spec": {"nodeName": "b"}})
    assert not many.is_only_name
