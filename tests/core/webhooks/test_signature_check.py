"""Explanations of a webhook signature that a receiver rejects."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.limits import SECOND_US
from daemon.core.webhooks.signature_check import MatchingSecret, check
from daemon.core.webhooks.signing import sign

SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
OLD = "whsec_ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="
T = 1_767_225_600
NOW = (T + 10) * SECOND_US
ID = "ocl_0123456789abcdefghijklmn"
BODY = json.dumps(
    {"webhook_id": ID, "name": "Kofi Ɔsei", "amount": "25.00"}, ensure_ascii=False, separators=(",", ":")
).encode()
HEADERS = sign([SECRET, OLD], webhook_id=ID, timestamp=T, body=BODY)


def test_a_good_one_says_which_secret_fits_where() -> None:
    found = check(HEADERS, BODY, [SECRET, OLD], NOW)
    assert found.valid
    assert (found.timestamp, found.age_s, found.problems) == (T, 10, ())
    assert set(found.fits) == {
        MatchingSecret("X-Svc-Signature", 1),
        MatchingSecret("X-Svc-Signature-Previous", 2),
        MatchingSecret("webhook-signature", 1),
        MatchingSecret("webhook-signature", 2),
    }


def test_a_body_that_was_cut_is_named_and_one_of_its_length_is_not() -> None:
    headers = {**HEADERS, "Content-Length": str(len(BODY))}
    (cut,) = check(headers, BODY[:40], [SECRET], NOW).problems
    assert f"it has 40 bytes, but Content-Length is {len(BODY)}" in cut
    (other,) = check(headers, BODY, [SECRET[:-4] + "Hxk="], NOW).problems
    assert "None of the given secrets" in other
    assert check(headers, BODY, [SECRET], NOW).valid


def test_header_names_in_any_case_and_one_scheme_alone_are_enough() -> None:
    for name in HEADERS:
        alone = {name.upper(): HEADERS[name]}
        if name.startswith("webhook"):
            alone = {k.title(): v for k, v in HEADERS.items() if k.startswith("webhook")}
        assert check(alone, BODY, [SECRET, OLD], NOW).fits, name


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda body: body + b"\n", "line end or blanks were added"),
        (lambda body: b"\xef\xbb\xbf" + body, "byte order mark"),
        (lambda body: json.dumps(json.loads(body)).encode(), "parsed as JSON"),
        (lambda body: json.dumps(json.loads(body), indent=2).encode(), "parsed as JSON"),
        (lambda body: body.replace(b"25.00", b"95.00"), "None of the given secrets"),
        (lambda _body: b"", "The body is empty"),
        (lambda _body: b"\xff\xfe no JSON", "None of the given secrets"),
    ],
)
def test_a_changed_body_is_named(change: Callable[[bytes], bytes], said: str) -> None:
    found = check(HEADERS, change(BODY), [SECRET], NOW)
    assert not found.valid
    assert said in found.problems[0]


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        (SECRET + "\n", "blanks, a line end or quotes"),
        (f'"{SECRET}"', "blanks, a line end or quotes"),
        (SECRET.removeprefix("whsec_"), "is part of it"),
        (SECRET.rstrip("="), "the `=` at its end"),
        ("whsec_" + "B" * 44, "None of the given secrets"),
    ],
)
def test_a_mistaken_secret_is_named_and_not_shown(secret: str, said: str) -> None:
    headers = {"X-Svc-Signature": HEADERS["X-Svc-Signature"]}
    found = check(headers, BODY, [secret], NOW)
    assert not found.valid
    assert said in found.problems[0]
    assert secret.strip('"\n') not in "".join(found.problems)


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({}, "There is no signature"),
        ({"X-Svc-Signature": "v1=" + "0" * 64}, "has no `t=`"),
        ({"X-Svc-Signature": f"t={T}"}, "has no `v1=`"),
        ({"X-Svc-Signature": f"t={T},v1=abc"}, "cut or changed"),
        ({"webhook-signature": "v1,AAAA"}, "webhook-id is missing"),
    ],
)
def test_misshapen_headers_are_named(headers: dict[str, str], said: str) -> None:
    assert said in check(headers, BODY, [SECRET], NOW).problems[0]


@pytest.mark.parametrize(("later_s", "said"), [(301, "301 s old"), (-301, "in the future")])
def test_the_age_is_told(later_s: int, said: str) -> None:
    found = check(HEADERS, BODY, [SECRET], (T + later_s) * SECOND_US)
    assert found.fits
    assert not found.valid
    assert said in found.problems[0]


@given(st.dictionaries(st.text(), st.text()), st.binary(), st.lists(st.text(), max_size=3))
def test_nothing_that_is_made_up_is_valid_or_raises(headers: dict[str, str], body: bytes, secrets: list[str]) -> None:
    assert not check(headers, body, secrets, NOW).valid
