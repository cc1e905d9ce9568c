"""Projected volumes: several sources, one directory."""

from typing import Any

import pytest
from tests.unit.admit.pod.manifests import NOT_A_KEY, NOT_A_LABEL, NOT_A_SUBDOMAIN, pod_errors, volume_errors

from moorage.model.names import dns1123_label_errors

COLLISION = "conflicting duplicate paths"
TOKEN = {"path": "t", "expirationSeconds": 3600}
CERTIFICATE = {"signerName": "a.b/c", "keyType": "ED25519", "keyPath": "k"}
SIGNER = "must be a fully qualified domain and path of the form 'example.com/signer-name'"

SOURCES: list[tuple[list[dict[str, Any]], list[str]]] = [
    ([{"secret": {"name": "s"}}, {"configMap": {"name": "c"}}, {"serviceAccountToken": TOKEN}], []),
    (
        [{"secret": {"items": [{"key": "k", "path": "p"}]}}, {"configMap": {"items": [{"key": "k", "path": "p"}]}}],
        [
            "sources[0].secret.name: Required value",
            "sources[1].configMap.name: Required value",
            f': Invalid value: "": {COLLISION}',
        ],
    ),
    (
        [
            {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}]}},
            {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.uid"}}]}},
            {"downwardAPI": {"items": [{}]}},
        ],
        [
            f': Invalid value: "p": {COLLISION}',
            "sources[2].downwardAPI.path: Required value",
            "sources[2].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required",
        ],
    ),
    (
        [{"serviceAccountToken": {"expirationSeconds": 599}}, {"serviceAccountToken": {"path": "../x"}}],
        [
            "sources[0].serviceAccountToken.expirationSeconds: Invalid value: 599: "
            "may not specify a duration less than 10 minutes",
            "path: Required value",
            "sources[1].serviceAccountToken.expirationSeconds: Invalid value: 0: "
            "may not specify a duration less than 10 minutes",
            "path: Invalid value: \"../x\": must not contain '..'",
        ],
    ),
    (
        [{"serviceAccountToken": {"path": "t", "expirationSeconds": 2**32 + 1}}],
        [
            "sources[0].serviceAccountToken.expirationSeconds: Invalid value: 4294967297: "
            "may not specify a duration larger than 2^32 seconds"
        ],
    ),
    (
        [{"secret": {"name": "s"}, "configMap": {"name": "c"}}],
        ["sources[0]: Forbidden: may not specify more than 1 volume type per source"],
    ),
    ([{"clusterTrustBundle": {"name": "b", "path": "p"}}], []),
    ([{"clusterTrustBundle": {"name": "a.b:c:d", "path": "p"}}], []),
    ([{"clusterTrustBundle": {"signerName": "a.b/c", "path": "p", "labelSelector": {"matchLabels": {"a": "b"}}}}], []),
    (
        [{"clusterTrustBundle": {}}],
        [
            "sources[0].clusterTrustBundle: Required value: either name or signerName must be specified",
            "sources[0].clusterTrustBundle.path: Required value",
        ],
    ),
    (
        [
            {
                "clusterTrustBundle": {
                    "name": "b",
                    "signerName": "s",
                    "path": "p",
                    "labelSelector": {"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]},
                }
            }
        ],
        [
            'sources[0].clusterTrustBundle: Invalid value: {"Name":"b","SignerName":"s","LabelSelector":'
            '{"matchExpressions":[{"key":"k","operator":"In","values":["v"]}]},"Optional":null,"Path":"p"}: '
            "only one of name and signerName may be used"
        ],
    ),
    (
        [{"clusterTrustBundle": {"name": "a/b:c", "path": "p", "labelSelector": {}}}],
        [
            'sources[0].clusterTrustBundle.name: Invalid value: "a/b:c": not a valid clustertrustbundlename: '
            "ClusterTrustBundle for signerName a/b must be named with prefix a:b:",
            "sources[0].clusterTrustBundle.labelSelector: Invalid value: {}: "
            "labelSelector must be unset if name is specified",
        ],
    ),
    (
        [{"clusterTrustBundle": {"name": "", "path": "p"}}, {"clusterTrustBundle": {"name": ":x", "path": "p"}}],
        [
            "sources[0].clusterTrustBundle.name: Required value: must be a valid object name",
            'sources[0].clusterTrustBundle.name: Invalid value: "": '
            f"not a valid clustertrustbundlename: {NOT_A_SUBDOMAIN}",
            'sources[1].clusterTrustBundle.name: Invalid value: ":x": not a valid clustertrustbundlename: '
            'ClusterTrustBundle without signer name must not have ":" in its name',
            f': Invalid value: "p": {COLLISION}',
        ],
    ),
    (
        [{"clusterTrustBundle": {"signerName": "", "path": "p"}}],
        [
            "sources[0].clusterTrustBundle.signerName: Required value: must be a valid signer name",
            "sources[0].clusterTrustBundle.signerName: Required value",
        ],
    ),
    ([{"podCertificate": CERTIFICATE}], []),
    (
        [{"podCertificate": {"signerName": "x"}}],
        [
            f'sources[0].podCertificate.signerName: Invalid value: "x": {SIGNER}',
            'sources[0].podCertificate.keyType: Unsupported value: "": supported values: "RSA3072", "RSA4096", '
            '"ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"',
            "sources[0].podCertificate: Required value: "
            "specify at least one of credentialBundlePath, keyPath, and certificateChainPath",
        ],
    ),
    (
        [{"podCertificate": {**CERTIFICATE, "signerName": "_/_", "maxExpirationSeconds": 1}}],
        [
            f'sources[0].podCertificate.signerName: Invalid value: "_": validating label "_": {NOT_A_LABEL}',
            'sources[0].podCertificate.signerName: Invalid value: "_": '
            "should be a domain with at least two segments separated by dots",
            f'sources[0].podCertificate.signerName: Invalid value: "_": validating label "_": {NOT_A_SUBDOMAIN}',
            "sources[0].podCertificate.maxExpirationSeconds: Invalid value: 1: "
            "if provided, maxExpirationSeconds must be >= 3600",
        ],
    ),
    (
        [
            {
                "podCertificate": {
                    **CERTIFICATE,
                    "signerName": "x.kubernetes.io/c",
                    "maxExpirationSeconds": 86401,
                    "certificateChainPath": "k",
                    "credentialBundlePath": "/b",
                    "userAnnotations": {"plain": "x", "_": "y", "a.b/c": "z"},
                }
            }
        ],
        [
            f'sources[0].podCertificate.userAnnotations: Invalid value: "_": {NOT_A_KEY}',
            'sources[0].podCertificate.userAnnotations: Invalid value: "plain": '
            'must be a domain-prefixed key (such as "acme.io/foo")',
            "sources[0].podCertificate.maxExpirationSeconds: Invalid value: 86401: "
            "if provided, maxExpirationSeconds must be <= 86400",
            'sources[0].podCertificate.credentialBundlePath: Invalid value: "/b": must be a relative path',
            f': Invalid value: "k": {COLLISION}',
        ],
    ),
]


@pytest.mark.parametrize(("sources", "expected"), SOURCES)
def test_sources(sources: list[dict[str, Any]], expected: list[str]) -> None:
    found = volume_errors({"projected": {"sources": sources}})
    assert found == [f"projected.{error}".replace("projected.:", "projected:") for error in expected]


def test_mode() -> None:
    detail = "must be a number between 0 and 0777 (octal), both inclusive"
    assert volume_errors({"projected": {"defaultMode": 512}}) == [
        f"projected.defaultMode: Invalid value: 512: {detail}"
    ]


def test_long_signers() -> None:
    label = "a" * 64
    at = "projected.sources[0].podCertificate.signerName"
    found = volume_errors(
        {"projected": {"sources": [{"podCertificate": {**CERTIFICATE, "signerName": f"{label}.{'b.' * 100}c/d"}}]}}
    )
    message = dns1123_label_errors(label)[0]
    assert found == [
        f"{at}: Too long: may not be more than 253 bytes",
        f'{at}: Invalid value: "{label}.{"b." * 100}c": validating label "{label}": {message}',
    ]


def test_tokens_need_a_service_account() -> None:
    volumes = [{"name": "v", "projected": {"sources": [{"secret": {"name": "s"}}, {"serviceAccountToken": TOKEN}]}}]
    assert pod_errors({"volumes": volumes}) == [
        "spec.volumes[0].projected.sources[1].serviceAccountToken: Forbidden: "
        "must not be specified when serviceAccountName is not set"
    ]
