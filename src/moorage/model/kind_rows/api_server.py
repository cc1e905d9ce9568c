"""Kinds that configure an API server. They are stored: no webhook is called, no policy applied, no request queued."""

from typing import Final

from moorage.model.kind_rows.kind import WITH_STATUS, Kind
from moorage.model.types.extension import admission_policies, flow_control, webhooks
from moorage.model.types.extension.apiservice import APIService

_ADMISSION: Final = "admissionregistration.k8s.io/v1"
_FLOW: Final = "flowcontrol.apiserver.k8s.io/v1"
_EXTENSIONS: Final = ("api-extensions",)
_ALL_BUT_STATUS: Final = (("metadata",), ("spec",))

ROWS: Final = (
    Kind(
        "apiregistration.k8s.io/v1",
        "apiservices",
        APIService,
        namespaced=False,
        categories=_EXTENSIONS,
        subresources=WITH_STATUS,
        unconditional_update=False,
        status_resets=_ALL_BUT_STATUS,
        read_by_plan=False,
    ),
    *(
        Kind(
            _FLOW,
            plural,
            view,
            namespaced=False,
            subresources=WITH_STATUS,
            status_resets=_ALL_BUT_STATUS,
            read_by_plan=False,
        )
        for plural, view in (
            ("flowschemas", flow_control.FlowSchema),
            ("prioritylevelconfigurations", flow_control.PriorityLevelConfiguration),
        )
    ),
    *(
        Kind(
            _ADMISSION,
            plural,
            view,
            namespaced=False,
            categories=_EXTENSIONS,
            unconditional_update=False,
            read_by_plan=False,
        )
        for plural, view in (
            ("mutatingadmissionpolicies", admission_policies.MutatingAdmissionPolicy),
            ("mutatingadmissionpolicybindings", admission_policies.MutatingAdmissionPolicyBinding),
            ("mutatingwebhookconfigurations", webhooks.MutatingWebhookConfiguration),
            ("validatingadmissionpolicybindings", admission_policies.ValidatingAdmissionPolicyBinding),
            ("validatingwebhookconfigurations", webhooks.ValidatingWebhookConfiguration),
        )
    ),
    Kind(
        _ADMISSION,
        "validatingadmissionpolicies",
        admission_policies.ValidatingAdmissionPolicy,
        namespaced=False,
        categories=_EXTENSIONS,
        subresources=WITH_STATUS,
        unconditional_update=False,
        status_resets=_ALL_BUT_STATUS,
        read_by_plan=False,
    ),
)
