"""Masking for logs and reports: the ends of numbers and the first letters of names stay, texts and secrets do not."""

import pytest

from parsers.masking import describe_error, describe_traceback, mask_text, mask_value
from tests.fakes.each import each


def test_phone_number_keeps_its_ends() -> None:
    assert mask_value("phone", "+233241234567") == "+23324****567"
    assert mask_value("phone", "0241234567") == "024****567"
    assert mask_text("from +233 24 123 4567 to 024-123-4567") == "from +23324****567 to 024****567"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://ama:pw@shop.example:9/hook/s3cr3t?token=a#b", "https://shop.example:9/..."),
        ("http://ama:pw@shop.example", "http://shop.example"),
        ("told https://shop.example?t=s3cr3t, twice", "told https://shop.example/... twice"),
        ("https://shop.example/", "https://shop.example/"),
    ],
)
def test_address_keeps_its_host_alone(address: str, shown: str) -> None:
    assert mask_text(address) == shown


def test_name_keeps_its_first_letter() -> None:
    assert mask_value("payer_name", "Kofi Boateng") == "K***"
    assert mask_value("name", "") == "***"
    assert mask_value("payer", {"name": "Kofi", "phone_number": "0241234567"}) == {
        "name": "K***",
        "phone_number": "024****567",
    }


def test_text_of_a_message_is_never_shown_whatever_it_holds() -> None:
    for key in ("body", "text", "reference_text", "pdu", "password", "secret", "token", "meta"):
        assert mask_value(key, {"a": 1}) == "***"


@each(
    "fine",
    [
        "svc_trx_0f3c5a9d8e7b6a5f4e3d2c1b0a998877",
        "550e8400-e29b-41d4-a716-446655440000",
        "req_0123456789abcdef0123456789abcdef",
        "ocl_0123456789abcdefghijklmn",
        "/dev/serial/by-id/usb-ZTE_MF823_1234567890ABCDEF-if01",
        "127.0.0.1:8420",
        "2026-11-20T09:14:00.123Z",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "12.50",
        "http 503",
    ],
)
def test_ids_paths_and_times_stay_readable(fine: str) -> None:
    assert mask_text(fine) == fine


@pytest.mark.parametrize("value", [0, 1_760_000_000_000_000, -1.5, True, None])
def test_numbers_that_only_count_pass_unmasked(value: object) -> None:
    assert mask_value("count", value) == value


def test_value_cannot_write_a_line_of_its_own() -> None:
    assert mask_text("a\nready pid=1\r\x1b[31m") == "a\\x0aready pid=1\\x0d\\x1b[31m"


def test_what_is_inside_is_masked_by_its_own_name() -> None:
    assert mask_value("items", [{"pin": "1234"}, {"amount": "12.50"}]) == [{"pin": "***"}, {"amount": "12.50"}]


@pytest.mark.parametrize("secret", ["svc_live_sk_abcDEF123", "whsec_AAEC+/=", "eyJhbGciOi.x.y", "Bearer  abc"])
def test_a_token_keeps_the_beginning_that_says_what_it_is(secret: str) -> None:
    told = mask_text(f"with {secret}, and went")
    assert secret not in told
    assert told.startswith(f"with {secret[:3]}")
    assert told.endswith("***, and went")


def test_bytes_are_told_by_their_number_and_a_pdu_not_at_all() -> None:
    assert mask_value("data", b"12") == "<2 bytes>"
    assert mask_text("got " + "0A" * 40) == "got ***"


def raised(number: int) -> Exception:
    try:
        int("Ama Mensah", number)
    except ValueError as error:
        return error
    raise AssertionError


def test_traceback_of_a_group_has_every_error_with_its_place() -> None:
    inner = ExceptionGroup("inner", [raised(8)])
    said = describe_traceback(ExceptionGroup("two loops", [raised(10), inner]))
    assert said.count("ValueError") == 2
    assert said.count("test_masking.py") == 2
    assert "Ama" not in said


def test_an_error_keeps_the_names_of_constraints_and_loses_values() -> None:
    error = ValueError(
        'duplicate key value violates unique constraint "payments_by_id"\nDETAIL:  Key (name)=(KOFI) exists.'
    )
    said = describe_error(error)
    assert said == 'ValueError: duplicate key value violates unique constraint "payments_by_id"'
    assert describe_error(ValueError('the column "name" has "KOFI ANTWI"')) == (
        'ValueError: the column "name" has "***"'
    )
