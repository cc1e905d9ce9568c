import datetime
import socket
import ssl
import stat
from pathlib import Path

import pytest
from cryptography import x509

from moorage.serve.pki.certificates import Authority, CertificateError, Issued
from moorage.serve.pki.credentials import open_credentials, server_names

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
NAMES = server_names("127.0.0.1")


def test_what_was_made_is_found_again_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    first = open_credentials(tmp_path / "pki", NAMES, NOW)
    second = open_credentials(tmp_path / "pki", NAMES, NOW + datetime.timedelta(days=1))
    assert (first.server, first.admin, first.token) == (second.server, second.admin, second.token)
    assert first.authority.issued == second.authority.issued
    assert stat.S_IMODE((tmp_path / "pki").stat().st_mode) == 0o700
    files = sorted((tmp_path / "pki").iterdir())
    assert [file.name for file in files] == [
        *("admin.crt", "admin.key", "apiserver.crt", "apiserver.key", "ca.crt", "ca.key", "token")
    ]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_without_a_directory_every_cluster_has_its_own() -> None:
    first, second = (open_credentials(None, NAMES, NOW) for _ in range(2))
    assert first.token != second.token
    assert first.authority.issued != second.authority.issued


def test_a_new_address_needs_a_new_server_certificate_but_no_new_authority(tmp_path: Path) -> None:
    first = open_credentials(tmp_path, NAMES, NOW)
    second = open_credentials(tmp_path, server_names("192.0.2.7"), NOW)
    assert first.server != second.server
    assert (first.authority.issued, first.admin) == (second.authority.issued, second.admin)
    assert open_credentials(tmp_path, NAMES, NOW).server == second.server


def test_certificates_that_expire_soon_are_issued_again(tmp_path: Path) -> None:
    first = open_credentials(tmp_path, NAMES, NOW)
    next_year = open_credentials(tmp_path, NAMES, NOW + datetime.timedelta(days=340))
    assert first.authority.issued == next_year.authority.issued
    assert first.server != next_year.server
    assert first.admin != next_year.admin
    assert first.token == next_year.token
    much_later = open_credentials(tmp_path, NAMES, NOW + datetime.timedelta(days=3640))
    assert much_later.authority.issued != first.authority.issued
    assert much_later.authority.still_vouches_for(much_later.server, NAMES)
    assert not much_later.authority.still_vouches_for(first.server, NAMES)


@pytest.mark.parametrize("name", ["ca.crt", "ca.key"])
def test_a_broken_authority_is_not_replaced_silently(tmp_path: Path, name: str) -> None:
    open_credentials(tmp_path, NAMES, NOW)
    (tmp_path / name).write_bytes(b"-----BEGIN NOTHING-----\n")
    with pytest.raises(CertificateError, match="remove the directory") as error:
        open_credentials(tmp_path, NAMES, NOW)
    assert str(tmp_path) in str(error.value)


def test_a_key_of_another_authority_is_noticed(tmp_path: Path) -> None:
    open_credentials(tmp_path, NAMES, NOW)
    (tmp_path / "ca.key").write_bytes(Authority.create(NOW).issued.key)
    with pytest.raises(CertificateError, match="does not belong"):
        open_credentials(tmp_path, NAMES, NOW)


@pytest.mark.parametrize("name", ["apiserver.crt", "apiserver.key", "admin.crt", "token"])
def test_broken_or_missing_credentials_are_issued_again(tmp_path: Path, name: str) -> None:
    before = open_credentials(tmp_path, NAMES, NOW)
    (tmp_path / name).write_bytes(b"")
    after = open_credentials(tmp_path, NAMES, NOW)
    assert before.authority.issued == after.authority.issued
    assert (tmp_path / name).read_bytes()
    assert after.token
    assert after.authority.still_vouches_for(after.server, NAMES)


def test_the_server_is_known_by_all_its_names() -> None:
    issued = open_credentials(None, (*server_names("192.0.2.7"), "cluster.example"), NOW).server
    certificate = x509.load_pem_x509_certificate(issued.certificate)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    hosts, addresses = names.get_values_for_type(x509.DNSName), names.get_values_for_type(x509.IPAddress)
    assert {"localhost", "kubernetes", "kubernetes.default.svc", "cluster.example"} <= set(hosts)
    assert {"127.0.0.1", "::1", "192.0.2.7"} <= {str(address) for address in addresses}


def test_names_are_given_once_and_only_if_they_are_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "not a_name")
    assert server_names("localhost").count("localhost") == 1
    assert "not a_name" not in server_names("0.0.0.0")
    assert not {"", "0.0.0.0", "::"} & set(server_names("0.0.0.0") + server_names("::") + server_names(""))


def test_components_get_certificates_of_their_own() -> None:
    authority = Authority.create(NOW)
    issued = authority.issue_client("system:node:n1", ("system:nodes",))
    subject = x509.load_pem_x509_certificate(issued.certificate).subject
    assert subject.rfc4514_string() == "CN=system:node:n1,O=system:nodes"
    assert authority.still_vouches_for(issued)
    assert not Authority.create(NOW).still_vouches_for(issued)
    assert not authority.still_vouches_for(Issued(issued.certificate, authority.issued.key))
    assert not authority.still_vouches_for(issued, ("localhost",))


def test_tls_asks_for_a_certificate_but_does_not_insist() -> None:
    context = open_credentials(None, NAMES, NOW).server_context()
    assert context.verify_mode == ssl.CERT_OPTIONAL
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
