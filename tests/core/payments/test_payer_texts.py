"""Texts of SMS to payers: allowed templates, and default texts that fit one SMS."""

from typing import Any

import pytest
from msgspec.structs import replace

from daemon.core.payments.matching import compare_amounts
from daemon.core.payments.payer_texts import (
    Texting,
    TextKind,
    TextLine,
    code_text,
    first_step,
    receipt_text,
    template_error,
)
from daemon.core.text import ENGLISH, Text
from daemon.modem.codec import gsm7
from daemon.runtime.config import Config
from daemon.runtime.config_file import ConfigError, parse_config
from daemon.runtime.words import LANGUAGES, sentences
from parsers.phone import network_of_number
from tests.fakes.each import each

LINE = TextLine(1, "mtn", "+233244124567", "Ama Provisions and Daughters")
SEPTETS_IN_ONE = 160

CODE_TEXT = ENGLISH["sms.code"]
RECEIPT_TEXT = ENGLISH["sms.receipt"]


@each("language", LANGUAGES)
def test_the_usual_words_fit_one_sms_in_the_gsm_alphabet(language: str) -> None:
    texting = Texting(words=sentences(language))
    widest = 100_000_000
    paid = compare_amounts(widest, 1)
    both = (
        code_text(texting, LINE, number="+233241234567", minor=widest, currency="GHS", code="7KQ2MX"),
        receipt_text(texting, LINE, paid, minor=widest, currency="GHS", code="7KQ2MX"),
    )
    for text in both:
        septets = gsm7.encode(text)
        assert septets is not None, text
        assert len(septets) <= SEPTETS_IN_ONE, text


@each("language", LANGUAGES)
@each("name", ["no transaction ID", "{code} {0} {", "<b>a</b>"])
def test_a_name_stays_as_it_was_typed(name: str, language: str) -> None:
    line = replace(LINE, account_name=name)
    values: dict[str, Any] = {"minor": 1250, "currency": "GHS", "code": "7KQ2MX"}
    for own in ("", "{amount} {number} {account} {code} {steps}"):
        texting = Texting(code_text=own, words=sentences(language))
        assert name in code_text(texting, line, number="+233241234567", **values)


def test_the_first_step_is_in_the_customers_language_if_it_is_only_a_code() -> None:
    french = sentences("fr")
    assert (
        Text("sms.code", **dict.fromkeys(("amount", "number", "account", "code"), "1"), steps=first_step("Dial *170#"))
        .render(french)
        .startswith("Payez 1 au 1 (1). Composez le *170#, ")
    )
    assert first_step("Open the app") == "Open the app"


@each(
    ("text", "why"),
    [
        ("{amount} {number}", "must contain {code}"),
        ("pay", "must contain {amount} and {number} and {code}"),
        (CODE_TEXT + "{cod}", "has an unknown field {cod}"),
        (CODE_TEXT + "{}", "has an unknown field {}"),
        (CODE_TEXT + "{code!r}", "has an unknown field {code}"),
        (CODE_TEXT + "{code:>99999999}", "has an unknown field {code}"),
        (CODE_TEXT + "{code.__class__}", "has an unknown field {code.__class__}"),
        (CODE_TEXT + "{", "has an unmatched brace"),
        (CODE_TEXT + "}", "has an unmatched brace"),
        (CODE_TEXT + "\n", "takes one line"),
        (CODE_TEXT + "x" * 480, "takes at most 480 characters"),
    ],
)
def test_a_template_that_cannot_be_filled_in_is_refused_with_the_reason(text: str, why: str) -> None:
    assert template_error(TextKind.CODE, text).startswith(why)


def test_the_usual_templates_and_doubled_braces_are_good() -> None:
    assert template_error(TextKind.CODE, CODE_TEXT) == ""
    assert template_error(TextKind.RECEIPT, RECEIPT_TEXT) == ""
    assert template_error(TextKind.RECEIPT, "{{{code}}} {amount}") == ""
    assert parse_config("") == Config()


def test_the_settings_name_the_line_of_a_bad_template() -> None:
    with pytest.raises(ConfigError, match=r"line 3: receipt_text must contain \{code\}"):
        parse_config('[sms]\ncode_text = "{amount} {number} {code}"\nreceipt_text = "{amount}"')
    with pytest.raises(ConfigError, match="steps_mtn takes 1 to 120 plain characters"):
        parse_config('[sms]\nsteps_mtn = "{code}"')


def test_a_number_tells_the_network_that_gave_it_out() -> None:
    assert network_of_number("+233591234567") == "mtn"
    assert network_of_number("+233501234567") == "telecel"
    assert network_of_number("+233571234567") == "at"
    assert network_of_number("+233301234567") is None
    assert network_of_number("+2348012345678") is None
