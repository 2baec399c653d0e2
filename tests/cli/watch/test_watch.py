"""`momo watch`: keys and screens, without a terminal (see test_watch_terminal.py for one)."""

from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.text import Text

from momo_cli.watch.loop import keys_of
from momo_cli.watch.model import (
    Action,
    Approve,
    DaemonConnection,
    DayData,
    Leave,
    Lookup,
    LookupResult,
    Model,
    Ring,
    ScreenMessage,
    apply_result,
    handle_key,
)
from momo_cli.watch.view import Screen, large_figures, screen_lines, wrap_styled
from tests.cli import samples
from tests.fakes.each import each

ORDER = {**samples.PAID, "why": "The code has two characters swapped.", "reference": samples.REF}
NEAR = {**samples.REVIEW, "reason": "near_miss", "summary": "nearly names an order", "suggestions": [ORDER]}
FORGED = {**NEAR, "id": "4f6d9e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6", "needs_password": True}
WAITING = {"status": "PENDING"}
WALK_IN = {**samples.RECENT, "id": "walk-in", "order": None, "amount": "9.00"}
REPORT = {**samples.REPORT, "recent": [samples.RECENT, WALK_IN]}
SMALL = Screen(80, 24, datetime(2026, 11, 20, 9, 18, tzinfo=UTC), 100.0, UTC)
TAKES = Approve(str(NEAR["id"]), samples.REF, samples.CODE)


def opened(*reviews: Any, **how: Any) -> Model:
    model = Model(**how)
    assert apply_result(model, DayData(REPORT, reviews), 0.0) == []
    return model


def typed(model: Model, text: str, now: float = 100.0) -> list[Action]:
    return [deed for key in text for deed in handle_key(model, key, now)]


def shown(model: Model, screen: Screen = SMALL) -> list[str]:
    return [line.plain.rstrip() for line in screen_lines(model, screen)]


# keys --------------------------------------------------------------------------------------------------


def test_the_sixth_character_looks_the_code_up_in_capitals() -> None:
    model = opened()
    assert typed(model, "7kq2m") == []
    assert typed(model, "x") == [Lookup("7KQ2MX")]
    assert (model.typed, model.looking) == ("", "7KQ2MX")


def test_an_answer_to_an_older_question_is_not_shown() -> None:
    model = opened()
    typed(model, "7kq2mx9pl8aa")
    apply_result(model, LookupResult("7KQ2MX", samples.ONE), 0.0)
    assert "waiting" not in shown(model)[-2]
    apply_result(model, LookupResult("9PL8AA", samples.ONE), 0.0)
    assert "9PL8AA … waiting" in shown(model)[-2]
    typed(model, "7")
    assert "waiting" not in shown(model)[-2]


def test_an_answer_is_not_hidden_by_what_was_said_before_it() -> None:
    model = opened(NEAR, read_only=True)
    typed(model, "+7kq2mx")
    apply_result(model, LookupResult("7KQ2MX", samples.ONE), 100.0)
    assert "7KQ2MX … waiting" in shown(model)[-2]
    typed(model, "+")
    assert "read-only" in shown(model)[-2]


def test_one_key_takes_the_suggested_order() -> None:
    assert typed(opened(NEAR), "+") == [TAKES]


def test_what_has_only_just_appeared_is_not_approved_by_the_key_meant_for_another() -> None:
    model = opened(NEAR)
    apply_result(model, DayData(REPORT, (FORGED,)), 50.0)
    assert typed(model, "+", 50.5) == []
    assert "only just come" in model.sentence(50.5).text
    assert typed(model, "+", 51.5) == []
    assert model.ask is not None


def test_what_may_be_forged_asks_for_yes_and_the_password() -> None:
    model = opened(FORGED)
    typed(model, "+")
    assert typed(model, "YES") == handle_key(model, "enter", 100.0) == []
    typed(model, "horse+battery")
    assert "horse" not in "".join(shown(model))
    done = handle_key(model, "enter", 100.0)
    assert done == [replace(TAKES, review=FORGED["id"], password="horse+battery")]
    assert model.ask is None


@pytest.mark.parametrize("answer", ["yes", "", "no"])
def test_anything_but_yes_changes_nothing(answer: str) -> None:
    model = opened(FORGED)
    typed(model, "+" + answer)
    assert handle_key(model, "enter", 100.0) == []
    assert (model.ask, model.said.text) == (None, "Nothing was changed.")


def test_a_question_ends_when_somebody_else_decides() -> None:
    model = opened(FORGED)
    typed(model, "+YES")
    apply_result(model, DayData(REPORT, (NEAR,)), 101.0)
    assert model.ask is None
    assert handle_key(model, "enter", 101.0) == []


def test_a_screen_that_only_shows_approves_nothing_and_does_not_offer_it() -> None:
    model = opened(NEAR, read_only=True)
    assert typed(model, "+") == []
    assert "takes it" not in "".join(shown(model))
    assert typed(model, "7KQ2MX") == [Lookup("7KQ2MX")]


HELD = samples.REVIEW
NAMED = {**FORGED, "suggestions": [], "request": None, "orders_named": [samples.SHORT | WAITING]}


@pytest.mark.parametrize(
    ("review", "code", "why"),
    [
        (HELD, "7KQ2MX", "The payment is held for this transaction."),
        (NAMED, "9PL8AA", "Its reference has the code of this transaction."),
    ],
)
def test_the_order_that_is_held_for_it_or_that_it_names_is_offered(review: dict[str, Any], code: str, why: str) -> None:
    model = opened(review)
    told = "\n".join(shown(model))
    assert f"→ {code}" in told
    assert why in told
    deeds = typed(model, "+")
    deed = deeds[0] if deeds else model.ask and model.ask.action
    assert isinstance(deed, Approve)
    assert (deed.svc_code, bool(model.ask)) == (code, review is NAMED)


@pytest.mark.parametrize(
    "change",
    [
        {"orders_named": []},
        {"orders_named": [samples.SHORT]},
        {"orders_named": [samples.SHORT | WAITING, samples.PAID | WAITING]},
        {"request": samples.PAID},
    ],
)
def test_without_one_order_that_may_be_paid_the_command_is_named(change: dict[str, Any]) -> None:
    model = opened(NAMED | change)
    assert typed(model, "+") == []
    assert f"momo review approve {NAMED['id']} --order" in model.said.text


def test_tab_goes_round_and_what_is_chosen_stays_chosen() -> None:
    model = opened(NEAR, FORGED)
    for key, chosen in (("tab", FORGED), ("tab", NEAR), ("up", FORGED)):
        handle_key(model, key, 0.0)
        assert model.chosen == chosen["id"]
    apply_result(model, DayData(REPORT, (samples.REVIEW | {"id": "new"}, NEAR, FORGED)), 1.0)
    assert model.chosen == FORGED["id"]


def test_the_bell_rings_for_what_is_new_and_never_twice() -> None:
    model = opened()
    new = {**samples.RECENT, "id": "new"}
    more = {**REPORT, "recent": [new, samples.RECENT, WALK_IN]}
    assert apply_result(model, DayData(more, ()), 5.0) == [Ring(1)]
    assert model.flash_until > 5.0
    assert apply_result(model, DaemonConnection(up=False), 6.0) == apply_result(model, DayData(more, ()), 7.0) == []
    assert apply_result(model, DayData(more, (NEAR,)), 8.0) == [Ring(2)]
    typed(model, "*")
    assert apply_result(model, DayData(more, (NEAR, FORGED)), 9.0) == []


def test_escape_clears_and_ctrl_d_leaves() -> None:
    model = opened()
    typed(model, "7kq")
    handle_key(model, "backspace", 0.0)
    assert model.typed == "7K"
    handle_key(model, "escape", 0.0)
    assert model.typed == ""
    assert handle_key(model, "ctrl-d", 0.0) == [Leave()]


def test_q_and_enter_leave_and_q_begins_a_code_all_the_same() -> None:
    model = opened()
    assert typed(model, "q") == []
    assert " Code Q_____  Enter quits" in shown(model, SMALL)
    assert typed(model, "7k2mx") == [Lookup("Q7K2MX")]
    assert handle_key(model, "enter", 0.0) == []
    assert typed(model, "aq") == []
    assert handle_key(model, "enter", 0.0) == [], "in the middle of a code nobody leaves"
    handle_key(model, "escape", 0.0)
    typed(model, "q")
    assert handle_key(model, "enter", 0.0) == [Leave()]


def test_q_is_part_of_a_password() -> None:
    model = opened(FORGED)
    handle_key(model, "tab", 0.0)
    handle_key(model, "+", 5.0)
    assert model.ask is not None
    typed(model, "q")
    assert handle_key(model, "enter", 6.0) == []
    assert model.ask is None, "it was not YES"


def test_keys_are_told_from_sequences_that_are_none() -> None:
    sent = "a\x1b[A\x1bOB\x1b[Z\x1b[15~\x1b[1;5C\t\r\x7f\x04\x1bé\x01"
    assert keys_of(sent) == ["a", "up", "down", "up", "tab", "enter", "backspace", "ctrl-d", "escape", "é"]


# the screen --------------------------------------------------------------------------------------------


def test_the_whole_screen_at_80_by_24() -> None:
    assert shown(opened(NEAR)) == [
        "Ama Provisions · Fri 20 Nov 09:18                                         ● live",
        "",
        " ████        ██████  ████    ██████      ██████  ██████",
        "   ██        ██  ██    ██        ██      ██      ██  ██",
        "   ██        ██  ██    ██    ██████      ██████  ██  ██",
        "   ██    ██  ██  ██    ██    ██              ██  ██  ██",
        " ██████  ██  ██████  ██████  ██████  ██  ██████  ██████  GHS",
        "",
        " ✓ PAID   7KQ2MX · Kofi Ɔsei 024…4567 · MTN · 3m ago",
        "─ TODAY ────────────────────────────────────────────────────────────────────────",
        " MTN 024 412 4567          46    GHS 3,030.50  ✓",
        " Telecel                    2      GHS 314.00  ✓",
        " All                       48    GHS 3,344.50  ✓",
        "─ BEFORE ───────────────────────────────────────────────────────────────────────",
        "        3m ago        9.00  ✓ RECEIVED          Kofi Ɔsei 024…4567",
        "─ 1 TO REVIEW ──────────────────────────────────────────────────────────────────",
        " ▸      12.50  nearly names an order  4m ago",
        "     → 7KQ2MX  GHS 1,012.50  Kofi Ɔsei 024…4567   + approve",
        "       The code has two characters swapped.",
        "",
        "",
        "────────────────────────────────────────────────────────────────────────────────",
        " Code ______",
        " type a code   Tab next   + approve   * sound   Esc clear   Ctrl-C quit",
    ]


UPRIGHT = SMALL._replace(width=40)


def test_at_40_by_24_what_is_too_wide_goes_on_below_and_nothing_that_counts_is_cut() -> None:
    model = opened(NEAR)
    typed(model, "7kq2mx")
    apply_result(model, LookupResult("7KQ2MX", {**samples.ONE, **samples.PAID, "payer": {"name": "Kofi"}}), 0.0)
    assert shown(model, UPRIGHT) == [
        "Ama Provisions · Fri 20 Nov 09:18 ● live",
        "",
        " ██    ███ ██  ███   ███ ███",
        "  █    █ █  █    █   █   █ █",
        "  █    █ █  █  ███   ███ █ █",
        "  █  █ █ █  █  █       █ █ █",
        " ███ █ ███ ███ ███ █ ███ ███  GHS",
        "",
        " ✓ PAID   7KQ2MX · Kofi Ɔsei 024…4567",
        "   MTN · 3m ago",
        "─ 1 TO REVIEW ──────────────────────────",
        " ▸      12.50  nearly names an order",
        "               4m ago",
        "     → 7KQ2MX  GHS 1,012.50",
        "       Kofi Ɔsei 024…4567   + approve",
        "       The code has two characters",
        "       swapped.",
        "",
        "────────────────────────────────────────",
        " Code ______  7KQ2MX ✓ PAID",
        " asked GHS 1,012.50, received 1,012.50",
        " Kofi · 18m ago",
        " type a code   Tab next   + approve",
        " * sound   Esc clear   Ctrl-C quit",
    ]


def test_the_name_gives_way_to_what_kind_of_screen_it_is() -> None:
    model = opened(read_only=True, sound=False)
    model.report = {**REPORT, "test": True}
    heads = {width: shown(model, SMALL._replace(width=width))[0] for width in (40, 60, 80)}
    assert heads == {
        40: "… · 09:18 · SANDBOX · read-only · ● live",
        60: "Ama Provisions · 09:18 · SANDBOX · read-only · silent ● live",
        80: "Ama Provisions · Fri 20 Nov 09:18 · SANDBOX · read-only · silent          ● live",
    }
    apply_result(model, DaemonConnection(up=False), 0.0)
    assert "SANDBOX" in shown(model, UPRIGHT)[0]


def test_at_40_columns_the_day_and_what_came_before_are_whole() -> None:
    found = shown(opened(), UPRIGHT)
    assert found[10:16] == [
        "─ TODAY ────────────────────────────────",
        " MTN …4567        46    GHS 3,030.50  ✓",
        " Telecel           2      GHS 314.00  ✓",
        " All              48    GHS 3,344.50  ✓",
        "─ BEFORE ───────────────────────────────",
        "       9.00  ✓ RECEIVED        3m ago",
    ]


def test_a_wallet_that_does_not_agree_is_told_whole_at_every_width() -> None:
    sheets = deepcopy(REPORT["sheets"])
    for line in (*sheets[0]["lines"], sheets[0]["all"]):
        line["wallet"] = {"agrees": False, "says": "1,003,344.50", "difference": "-1.00"}
    model = Model()
    apply_result(model, DayData({**REPORT, "sheets": sheets}, ()), 0.0)
    for width in (40, 62, 80, 120, 140):
        told = "\n".join(shown(model, SMALL._replace(width=width)))
        assert told.count("✗ wallet 1,003,344.50") == 3, (width, told)


def test_a_day_in_brief_keeps_the_amount_with_what_the_wallet_says() -> None:
    sheets = deepcopy(REPORT["sheets"])
    sheets[0]["all"]["wallet"] = {"agrees": False, "says": "3,000.00", "difference": "-344.50"}
    model = Model()
    apply_result(model, DayData({**REPORT, "sheets": sheets}, (NEAR,)), 0.0)
    found = shown(model, UPRIGHT)
    assert found[10:13] == [
        "─ TODAY ────────────────────────────────",
        " All              48    GHS 3,344.50",
        "   ✗ wallet 3,000.00",
    ]


@pytest.mark.parametrize("width", [1, 2, 7, 20, 39, 40, 61])
def test_a_folded_line_loses_no_word_and_no_colour(width: int) -> None:
    line = Text(" ✓ PAID ", "bold").append("Kofi Ɔsei · 024…4567", "red").append("   + approve")
    found = wrap_styled(line, width, 3)
    assert max(part.cell_len for part in found) <= width
    words = "".join("".join(part.plain for part in found).split())
    assert words.replace("·", "") == "✓PAIDKofiƆsei024…4567+approve"
    if width >= 7:
        assert {str(span.style) for part in found for span in part.spans} == {"bold", "red"}


@each("size", [(20, 5), (40, 10), (80, 24), (80, 12), (120, 30), (200, 60), (1, 1)])
@each("symbols", [True, False])
def test_every_size_is_filled_and_never_overflows(size: tuple[int, int], symbols: bool) -> None:
    many = tuple({**NEAR, "id": str(n)} for n in range(9))
    for model in (Model(), opened(), opened(*many), opened(FORGED)):
        typed(model, "+")
        screen = SMALL._replace(width=size[0], height=size[1], symbols=symbols)
        found = screen_lines(model, screen)
        assert len(found) == size[1]
        assert max(line.cell_len for line in found) <= size[0]
        assert symbols or all(line.plain.replace("Ɔ", "").isascii() for line in found)


def test_a_wide_screen_has_the_day_beside_the_payment() -> None:
    found = shown(opened(NEAR), SMALL._replace(width=140))
    assert "TODAY" in found[1]
    assert any("BEFORE" in line and "REVIEW" not in line for line in found)


def test_what_was_typed_stands_where_it_is_looked_for_and_its_answer_beside_it() -> None:
    model = opened()
    typed(model, "7kq2")
    assert shown(model)[-2] == " Code 7KQ2__"
    typed(model, "mx")
    apply_result(model, LookupResult("7KQ2MX", {**samples.ONE, **samples.PAID, "payer": {"name": "Kofi"}}), 0.0)
    assert shown(model)[-3:-1] == [
        " Code ______  7KQ2MX ✓ PAID  asked GHS 1,012.50, received 1,012.50 · Kofi",
        " 18m ago",
    ]
    apply_result(model, DaemonConnection(up=False), 0.0)
    assert shown(model)[0].endswith("○ daemon unreachable, trying again")


def test_a_payment_that_its_balance_denies_says_so_in_words() -> None:
    model = Model()
    apply_result(model, DayData({**REPORT, "recent": [{**samples.RECENT, "doubted": True}]}, ()), 0.0)
    assert "✗ DO NOT TRUST" in "\n".join(shown(model))
    again = {**samples.RECENT, "order": {**samples.PAID, "reversed_at": samples.RECENT["at"]}}
    apply_result(model, DayData({**REPORT, "recent": [{**again, "reversed": True}]}, ()), 0.0)
    assert "✓ PAID, REVERSED" in "\n".join(shown(model)), "as in momo tx list"


def test_figures_shrink_before_they_are_left_out() -> None:
    assert len(large_figures("1,012.50", 60)[1]) > 40 > max(map(len, large_figures("1,012.50", 40)))
    assert large_figures("1,012.50", 10) == []


def test_a_sentence_is_said_for_a_while() -> None:
    model = opened()
    apply_result(model, ScreenMessage("✓ Approved.", "green"), 100.0)
    assert "Approved" in shown(model)[-2]
    assert "Approved" not in shown(model, SMALL._replace(tick=120.0))[-2]


def test_a_code_that_a_held_message_names_is_shown_with_its_review() -> None:
    model = opened()
    model.looking = "7KQ2MX"
    order = {**samples.ONE, **WAITING, "held_review_id": NEAR["id"]}
    apply_result(model, LookupResult("7KQ2MX", order), 0.0)
    said = " ".join(" ".join(shown(model)).split())
    assert f"a message that names this code is held: momo review show {NEAR['id']}" in said


def test_the_question_about_a_balance_names_it() -> None:
    model = opened({**FORGED, "reason": "balance_break"})
    typed(model, "+")
    said = " ".join(" ".join(shown(model)).split())
    assert "Have you seen GHS 900.00 in the wallet itself? Type YES" in said
