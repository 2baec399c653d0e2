"""The shop's own CA and certificate, with real TLS connections."""

import asyncio
import io
import ssl
import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec
from msgspec.structs import replace

from daemon.api.http.listeners import ListenError, split_address
from daemon.loops.machine import CertificateLoop
from daemon.runtime import own_certificate
from daemon.runtime.config import Config, Http
from daemon.runtime.log import Log
from daemon.runtime.own_certificate import CertificateError, MachineNames, NameRefused, machine_names
from tests.fakes.api import FakeApi, running

DAY_S = 86_400
NOW_S = 1_795_420_800
TILL = MachineNames("till", ("192.168.1.5",))
MOVED = MachineNames("till", ("192.168.1.77",))


def trusting(home: Path) -> ssl.SSLContext:
    """Make the TLS settings of a phone that trusts only the shop's CA."""
    text = own_certificate.ca_certificate(str(home)).decode()
    context = ssl.create_default_context(cadata=text)
    # As strict as newer Pythons are by default.
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
    return context


async def fetched(address: str, context: ssl.SSLContext, name: str) -> tuple[bytes, bytes]:
    """Request /healthz under a name; return the status line and the server's certificate as DER."""
    host, port = split_address(address)
    reader, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=name)
    shown = f"[{name}]" if ":" in name else name
    writer.write(f"GET /healthz HTTP/1.1\r\nHost: {shown}\r\nConnection: close\r\n\r\n".encode())
    async with asyncio.timeout(10):
        answer = await reader.read()
    der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return answer.partition(b"\r\n")[0], der


def served(home: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(Path(own_certificate.server_file(str(home))).read_bytes())


def test_ca_lives_ten_years_and_server_certificate_at_most_397_days(tmp_path: Path) -> None:
    facts = own_certificate.create(str(tmp_path), [], TILL, NOW_S)
    ca = x509.load_pem_x509_certificate(own_certificate.ca_certificate(str(tmp_path)))
    leaf = served(tmp_path)
    assert 3650 <= (ca.not_valid_after_utc - ca.not_valid_before_utc).days <= 3660
    assert (leaf.not_valid_after_utc - leaf.not_valid_before_utc).days == 397
    assert isinstance(leaf.public_key(), ec.EllipticCurvePublicKey)
    assert facts.ca_fingerprint.replace(":", "").lower() == ca.fingerprint(hashes.SHA256()).hex()
    assert own_certificate.ca_certificate(str(tmp_path), der=True) == ca.public_bytes(form.Encoding.DER)


def test_nobody_else_may_read_the_keys(tmp_path: Path) -> None:
    own_certificate.create(str(tmp_path), [], TILL, NOW_S)
    folder = tmp_path / "tls"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()} == {0o600}


def test_names_of_the_last_call_stay_and_are_replaced_by_new_ones(tmp_path: Path) -> None:
    home = str(tmp_path)
    own_certificate.create(home, ["Shop.LAN", "10.0.0.9"], TILL, NOW_S)
    again = own_certificate.create(home, [], MOVED, NOW_S)
    assert again.names == (
        "shop.lan", "10.0.0.9", "till", "till.local", "192.168.1.77", "localhost", "127.0.0.1", "::1",
    )  # fmt: skip
    assert own_certificate.create(home, ["other.lan"], TILL, NOW_S).given == ("other.lan",)


def test_ca_stays_until_a_new_one_is_asked_for(tmp_path: Path) -> None:
    home = str(tmp_path)
    first = own_certificate.create(home, [], TILL, NOW_S)
    assert own_certificate.create(home, [], TILL, NOW_S).ca_fingerprint == first.ca_fingerprint
    new = own_certificate.create(home, [], TILL, NOW_S, new_ca=True)
    assert new.ca_fingerprint != first.ca_fingerprint


@pytest.mark.parametrize("name", ["8.8.8.8", "2001:4860:4860::8888", "a b", "-x.lan", "", "x/../y"])
def test_public_address_and_what_is_no_name_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(NameRefused):
        own_certificate.create(str(tmp_path), [name], TILL, NOW_S)
    assert not (tmp_path / "tls").exists()


def test_name_outside_the_ca_needs_a_new_ca(tmp_path: Path) -> None:
    home = str(tmp_path)
    own_certificate.create(home, [], TILL, NOW_S)
    with pytest.raises(NameRefused, match=r"--new-ca ama\.example"):
        own_certificate.create(home, ["ama.example"], TILL, NOW_S)
    made = own_certificate.create(home, ["ama.example"], TILL, NOW_S, new_ca=True)
    assert "ama.example" in made.names


async def test_stolen_ca_cannot_sign_for_a_site_on_the_internet(tmp_path: Path) -> None:
    home = str(tmp_path)
    own_certificate.create(home, [], TILL, NOW_S)
    text = (tmp_path / "tls" / "ca.pem").read_bytes()
    key = form.load_pem_private_key(text, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    forged = served(tmp_path)
    builder = x509.CertificateBuilder(
        forged.issuer, forged.subject, key.public_key(), x509.random_serial_number(),
        forged.not_valid_before_utc, forged.not_valid_after_utc,
    )  # fmt: skip
    for each in forged.extensions:
        if isinstance(each.value, x509.SubjectAlternativeName):
            names = x509.SubjectAlternativeName([x509.DNSName("bank.example")])
            builder = builder.add_extension(names, critical=False)
        elif not isinstance(each.value, x509.SubjectKeyIdentifier):
            builder = builder.add_extension(each.value, critical=each.critical)
    leaf = builder.sign(key, hashes.SHA256()).public_bytes(form.Encoding.PEM)
    pem = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    Path(own_certificate.server_file(home)).write_bytes(pem + leaf)
    async with running(tmp_path, tls=(own_certificate.server_file(home), "")) as api:
        with pytest.raises(ssl.SSLCertVerificationError, match="permitted subtree"):
            await fetched(api.listeners.http_address, trusting(tmp_path), "bank.example")


def api_config(home: Path) -> Config:
    return replace(Config(), http=Http(tls_cert=own_certificate.server_file(str(home))))


def loop_of(api: FakeApi, machine: MachineNames) -> CertificateLoop:
    reload = api.listeners.reload_certificate
    return CertificateLoop(api.shop.env, reload, Log(io.StringIO()), machine=lambda: machine)


async def test_phone_that_trusts_the_ca_reaches_every_name(tmp_path: Path) -> None:
    home = str(tmp_path)
    facts = own_certificate.create(home, ["shop.lan"], TILL, NOW_S)
    async with running(tmp_path, api_config(tmp_path), tls=(own_certificate.server_file(home), "")) as api:
        now = api.shop.clock.now_us() // 1_000_000
        own_certificate.create(home, [], TILL, now)
        loop = loop_of(api, TILL)
        api.listeners.reload_certificate()
        await loop.look()
        for name in facts.names:
            status, _ = await fetched(api.listeners.http_address, trusting(tmp_path), name)
            assert status == b"HTTP/1.1 200 OK", name
        with pytest.raises(ssl.SSLCertVerificationError):
            await fetched(api.listeners.http_address, trusting(tmp_path), "other.lan")


async def test_new_address_is_covered_without_a_restart(tmp_path: Path) -> None:
    home = str(tmp_path)
    own_certificate.create(home, [], TILL, NOW_S)
    async with running(tmp_path, api_config(tmp_path), tls=(own_certificate.server_file(home), "")) as api:
        now = api.shop.clock.now_us() // 1_000_000
        own_certificate.create(home, [], TILL, now)
        api.listeners.reload_certificate()
        phone = trusting(tmp_path)
        _, before = await fetched(api.listeners.http_address, phone, "127.0.0.1")
        await loop_of(api, TILL).look()
        _, same = await fetched(api.listeners.http_address, phone, "127.0.0.1")
        assert same == before
        await loop_of(api, MOVED).look()
        _, after = await fetched(api.listeners.http_address, phone, "127.0.0.1")
        assert after != before
        addresses = x509.load_der_x509_certificate(after).extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        )
        assert "192.168.1.77" in map(str, addresses.value.get_values_for_type(x509.IPAddress))
        assert "192.168.1.77" in api.shop.env.certificate_names


async def test_certificate_is_renewed_thirty_days_before_its_end(tmp_path: Path) -> None:
    home = str(tmp_path)
    async with running(tmp_path, api_config(tmp_path)) as api:
        now = api.shop.clock.now_us() // 1_000_000
        made = own_certificate.create(home, [], TILL, now - 360 * DAY_S)
        await loop_of(api, TILL).look()
        assert own_certificate.read_facts(home) == made
        made = own_certificate.create(home, [], TILL, now - 367 * DAY_S)
        await loop_of(api, TILL).look()
        renewed = own_certificate.read_facts(home)
    assert renewed is not None
    assert renewed.ends_s == now + 396 * DAY_S
    assert renewed.ca_fingerprint == made.ca_fingerprint


def test_certificate_does_not_outlive_its_ca_and_is_then_not_renewed_for_ever(tmp_path: Path) -> None:
    home = str(tmp_path)
    first = own_certificate.create(home, [], TILL, NOW_S)
    late = first.ca_ends_s - 100 * DAY_S
    assert own_certificate.renew_if_due(home, TILL, late) == "it ends soon"
    facts = own_certificate.read_facts(home)
    assert facts is not None
    assert facts.ends_s == first.ca_ends_s
    assert own_certificate.renew_if_due(home, TILL, late + 90 * DAY_S) == ""


async def test_files_that_cannot_be_used_leave_the_old_certificate_in_use(tmp_path: Path) -> None:
    home = str(tmp_path)
    own_certificate.create(home, [], TILL, NOW_S)
    file = Path(own_certificate.server_file(home))
    async with running(tmp_path, api_config(tmp_path), tls=(str(file), "")) as api:
        own_certificate.create(home, [], TILL, api.shop.clock.now_us() // 1_000_000)
        api.listeners.reload_certificate()
        phone = trusting(tmp_path)
        loop = loop_of(api, TILL)
        good = file.read_bytes()
        file.write_bytes(b"no certificate")
        await loop.look()
        with pytest.raises(ListenError, match="cannot be used"):
            api.listeners.reload_certificate()
        status, _ = await fetched(api.listeners.http_address, phone, "localhost")
        assert status == b"HTTP/1.1 200 OK"
        file.write_bytes(good)
        await loop.look()
        status, _ = await fetched(api.listeners.http_address, phone, "localhost")
        assert status == b"HTTP/1.1 200 OK"


def test_damaged_files_are_told(tmp_path: Path) -> None:
    home = str(tmp_path)
    with pytest.raises(CertificateError, match="is missing: momo daemon certificate create"):
        own_certificate.ca_certificate(home)
    own_certificate.create(home, [], TILL, NOW_S)
    (tmp_path / "tls" / "ca.pem").write_text("nothing")
    with pytest.raises(CertificateError, match="cannot be made or read"):
        own_certificate.create(home, [], TILL, NOW_S)
    (tmp_path / "tls" / "certificate.json").write_text("{}")
    with pytest.raises(CertificateError, match="cannot be read"):
        own_certificate.read_facts(home)


def test_this_machine_has_names_that_a_certificate_may_have() -> None:
    found = machine_names()
    assert all(not each.startswith("127.") for each in found.addresses)
