from typing import Any

import pytest

from moorage.model.quantity import ZERO, parse_quantity
from moorage.model.schema.conversion import ConversionError, TypeProblem, convert_view
from moorage.model.types.pod import Pod, Toleration
from moorage.model.types.workload import Deployment


def pod(spec: Any) -> Pod:
    return convert_view({"apiVersion": "v1", "kind": "Pod", "spec": spec}, Pod)


def problems(spec: Any) -> tuple[TypeProblem, ...]:
    with pytest.raises(ConversionError) as caught:
        pod(spec)
    return caught.value.problems


def test_absent_fields_have_the_zero_values_of_go() -> None:
    view = pod({"tolerations": [{"key": "a"}]})
    assert view.spec.tolerations == (Toleration(key="a", operator="", value="", effect="", tolerationSeconds=None),)
    assert view.metadata.labels == {}
    assert view.spec.affinity is None
    assert view.spec.hostNetwork is False


def test_quantities_are_read_from_text_and_numbers() -> None:
    (container,) = pod(
        {"containers": [{"resources": {"limits": {"cpu": 2, "memory": " 1Gi", "x": 0.5}}}]}
    ).spec.containers
    limits = container.resources.limits
    assert limits == {"cpu": parse_quantity("2"), "memory": parse_quantity("1Gi"), "x": parse_quantity("500m")}


def test_nulls_are_absence_and_in_lists_and_maps_zero() -> None:
    view = pod(
        {
            "containers": None,
            "nodeSelector": {"a": None},
            "tolerations": [None, {"key": None}],
            "overhead": {"cpu": None},
            "hostAliases": [{"hostnames": [None, "x"]}],
            "unknown": None,
        }
    )
    assert view.spec.containers == ()
    assert view.spec.nodeSelector == {"a": ""}
    assert view.spec.tolerations == (Toleration(), Toleration())
    assert view.spec.overhead == {"cpu": ZERO}
    assert view.spec.hostAliases[0].hostnames == ("", "x")


@pytest.mark.parametrize(
    ("spec", "path", "reason"),
    [
        (
            {"tolerations": [{}, {"value": 5}]},
            "spec.tolerations[1].value",
            "json: cannot unmarshal number into Go struct field Toleration.spec.tolerations.value of type string",
        ),
        (
            {"tolerations": [{"effect": True}]},
            "spec.tolerations[0].effect",
            "json: cannot unmarshal bool into Go struct field Toleration.spec.tolerations.effect of type "
            "v1.TaintEffect",
        ),
        (
            {"tolerations": {}},
            "spec.tolerations",
            "json: cannot unmarshal object into Go struct field PodSpec.spec.tolerations of type []v1.Toleration",
        ),
        (
            {"nodeSelector": {"a": 1}},
            "spec.nodeSelector[a]",
            "json: cannot unmarshal number into Go struct field PodSpec.spec.nodeSelector of type string",
        ),
        (
            {"nodeSelector": "x"},
            "spec.nodeSelector",
            "json: cannot unmarshal string into Go struct field PodSpec.spec.nodeSelector of type map[string]string",
        ),
        (
            {"overhead": []},
            "spec.overhead",
            "json: cannot unmarshal array into Go struct field PodSpec.spec.overhead of type v1.ResourceList",
        ),
        (
            {"priority": 3000000000},
            "spec.priority",
            "json: cannot unmarshal number 3000000000 into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            {"priority": 1.5},
            "spec.priority",
            "json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            {"terminationGracePeriodSeconds": 2**70},
            "spec.terminationGracePeriodSeconds",
            f"json: cannot unmarshal number {2**70} into Go struct field "
            "PodSpec.spec.terminationGracePeriodSeconds of type int64",
        ),
        (
            {"volumes": [{"emptyDir": 3}]},
            "spec.volumes[0].emptyDir",
            "json: cannot unmarshal number into Go struct field Volume.spec.volumes.VolumeSource.emptyDir of type "
            "v1.EmptyDirVolumeSource",
        ),
        (
            {"containers": [{"livenessProbe": {"httpGet": {"port": True}}}]},
            "spec.containers[0].livenessProbe.httpGet.port",
            "json: cannot unmarshal bool into Go struct field "
            "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
        ),
        (
            {"overhead": {"cpu": "many"}},
            "spec.overhead[cpu]",
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (3, "spec", "json: cannot unmarshal number into Go struct field Pod.spec of type v1.PodSpec"),
    ],
)
def test_type_errors_have_the_texts_of_the_api_server(spec: Any, path: str, reason: str) -> None:
    assert problems(spec) == (TypeProblem(path, reason),)


def test_type_errors_are_in_document_order() -> None:
    found = problems({"priority": "1", "hostNetwork": "yes", "nodeName": 3})
    assert [problem.path for problem in found] == ["spec.priority", "spec.hostNetwork", "spec.nodeName"]


def test_a_type_that_decodes_itself_gives_up_first() -> None:
    port: dict[str, Any] = {"livenessProbe": {"tcpSocket": {"port": []}}}
    found = problems({"priority": "1", "containers": [port], "overhead": {"cpu": "x"}, "nodeName": 3})
    assert [problem.path.rpartition(".")[2] for problem in found] == ["port", "overhead[cpu]", "priority", "nodeName"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("2024-13-01T00:00:00Z", 'parsing time "2024-13-01T00:00:00Z": month out of range'),
        (
            5,
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
    ],
)
def test_times_have_a_format(value: Any, reason: str) -> None:
    with pytest.raises(ConversionError) as caught:
        convert_view({"metadata": {"name": 1, "creationTimestamp": value}}, Pod)
    assert caught.value.problems[0] == TypeProblem("metadata.creationTimestamp", reason)


def test_the_fields_of_a_manager_are_whatever_they_are() -> None:
    fields: Any
    for fields in ({"f:spec": {}}, 5, "x", [], None):
        convert_view({"metadata": {"managedFields": [{"fieldsV1": fields}]}}, Pod)


def test_ports_and_shares_are_integers_or_text() -> None:
    raw = {"spec": {"strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}}}
    rolling = convert_view(raw, Deployment).spec.strategy.rollingUpdate
    assert rolling is not None
    assert (rolling.maxSurge, rolling.maxUnavailable) == ("25%", 1)


def test_a_document_that_is_no_object_has_no_field_to_name() -> None:
    with pytest.raises(ConversionError, match=r"cannot unmarshal array into Go value of type v1\.Pod"):
        convert_view([], Pod)
