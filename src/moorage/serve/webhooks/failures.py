"""Say why a webhook could not be called, in the words of Go's net, crypto/tls and net/http packages.

Differs: a certificate for another name, or one that has expired, is reported without the names and times in it, which
OpenSSL does not hand out.
"""

import errno
import os
import socket
import ssl
from typing import Final

from moorage.client.http_connections import Answer
from moorage.model.go.quoting import go_quote

DEADLINE: Final = "context deadline exceeded"
END: Final = "EOF"

_VERIFY: Final = "tls: failed to verify certificate: x509: "
_UNKNOWN_AUTHORITY: Final = "certificate signed by unknown authority"
#: What OpenSSL finds wrong with a certificate, by its codes.
_CERTIFICATE: Final = {
    9: "certificate has expired or is not yet valid: current time is before its start",
    10: "certificate has expired or is not yet valid: current time is after its end",
    **dict.fromkeys((2, 18, 19, 20, 21), _UNKNOWN_AUTHORITY),
    26: "certificate specifies an incompatible key usage",
    24: "certificate is not authorized to sign other certificates",
    79: "certificate is not authorized to sign other certificates",
}
_WRONG_NAME, _WRONG_ADDRESS = 62, 64
#: What is wrong with a handshake, by OpenSSL's names.
_HANDSHAKE: Final = {
    "WRONG_VERSION_NUMBER": "tls: first record does not look like a TLS handshake",
    "UNSUPPORTED_PROTOCOL": "tls: server selected unsupported protocol version",
    "TLSV1_ALERT_PROTOCOL_VERSION": "remote error: tls: protocol version not supported",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "remote error: tls: handshake failure",
    "TLSV1_ALERT_INTERNAL_ERROR": "remote error: tls: internal error",
    "TLSV1_UNRECOGNIZED_NAME": "remote error: tls: unrecognized name",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "remote error: tls: certificate required",
    "SSLV3_ALERT_BAD_CERTIFICATE": "remote error: tls: bad certificate",
    "UNEXPECTED_EOF_WHILE_READING": END,
}
#: Go's words for what the system says.
_SYSTEM: Final = {errno.ETIMEDOUT: "i/o timeout"}
_NO_HOST: Final = "no such host"

#: Kubernetes' words for a status code without a Status; None: the answer's own text.
_ANSWERS: Final = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    403: None,
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    415: None,
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_NOT_ACCEPTABLE: Final = "the server was unable to respond with a content type that the client supports"
_MAX_TEXT: Final = 2048


class CallFailed(Exception):
    """A webhook could not be called; the text is what comes after `Post "…": `."""


def dial_failure(error: OSError, address: str, name: str) -> CallFailed:
    """Describe why there is no connection to an address, or none to be found for a name."""
    if isinstance(error, socket.gaierror):
        return CallFailed(f"dial tcp: lookup {name}: {_NO_HOST}")
    return CallFailed(f"dial tcp {address}: connect: {system_words(error)}")


def system_words(error: OSError) -> str:
    if error.errno is None or error.errno <= 0:
        return str(error) or type(error).__name__
    return _SYSTEM.get(error.errno) or os.strerror(error.errno).lower()


def handshake_failure(error: ssl.SSLError, server_name: str) -> CallFailed:
    """Describe why a server does not speak TLS, or not as the one that it should be."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return CallFailed(_VERIFY + _certificate_problem(error, server_name))
    if isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError)):
        return CallFailed(END)
    reason = error.reason or ""
    return CallFailed(_HANDSHAKE.get(reason) or f"tls: {reason.replace('_', ' ').lower() or error}")


def _certificate_problem(error: ssl.SSLCertVerificationError, server_name: str) -> str:
    if error.verify_code == _WRONG_NAME:
        return f"certificate is not valid for {server_name}"
    if error.verify_code == _WRONG_ADDRESS:
        return f"cannot validate certificate for {server_name} because it doesn't contain it among its IP SANs"
    return _CERTIFICATE.get(error.verify_code) or error.verify_message


def refusal(answer: Answer, text: bytes) -> str:
    """Describe an answer whose status code is no success. Kubernetes: NewGenericServerResponse."""
    shown = text[:_MAX_TEXT].decode("utf-8", "replace").strip() if _is_text(answer) else "unknown"
    status = answer.status
    location = answer.header(b"location")
    if status in _REDIRECTS and location:
        return f"the server answered with a redirect ({status}) to {go_quote(location)}, which is not followed"
    if status == 406:
        return shown if shown not in ("", "unknown") else _NOT_ACCEPTABLE
    if status in _ANSWERS:
        words = _ANSWERS[status]
        return shown if words is None else words
    if status >= 500:
        return f"an error on the server ({go_quote(shown)}) has prevented the request from succeeding"
    return f"the server responded with the status code {status} but did not return more information"


def _is_text(answer: Answer) -> bool:
    content_type = answer.header(b"content-type")
    return not content_type or content_type.lstrip().lower().startswith("text/")
