"""Effects of a trusted payment on a transaction: every status and every decision."""

import pytest
from msgspec.structs import replace

from daemon.core.limits import DAY_US, HOUR_US, LATE_WINDOW_US, MINUTE_US
from daemon.core.model import Payment, Transaction
from daemon.core.payments.matching import Decision, Hold, Unmatched, Verify, compare_amounts, match
from daemon.wire import Mode, ReviewReason, TransactionStatus

NOW = 1_760_000_000_000_000


def request(**changes: object) -> Transaction:
    plain = Transaction(
        seq=1, id="11111111-1111-4111-8111-111111111111", mode=Mode.LIVE, origin="request",
        status=TransactionStatus.PENDING, svc_code="K7M2QX", public_slug="s", expected_minor=2500,
        currency="GHS", phone_number="+233241234567", customer_name=None, description=None,
        webhook_url=None, redirect_url=None, client_reference=None, meta="{}",
        expected_telco_transaction_id=None, expected_payer_phone=None, send_sms_to_payer=True,
        created_with="secret", created_at=NOW - HOUR_US, expires_at=NOW + HOUR_US, cancelled_at=None,
        payment_id=None, held_payment_id=None, matched_by=None, processing_at=None, completed_at=None,
        late=False, rejected=False, merged_into=None, supersedes=None, reversed_at=None,
    )  # fmt: skip
    return replace(plain, **changes)  # fields by name


def payment(**changes: object) -> Payment:
    plain = Payment(
        seq=1, id="p", mode=Mode.LIVE, provider="momo_mtn", telco_transaction_id="86105511902",
        telco_id_as_read="86105511902", message_id="m", payment_method_id="pm", sim_key="8923", device_id="d",
        slot_index=0, kind="payment_received", amount_minor=2500, currency="GHS", fee_minor=0,
        balance_minor=10000, payer_name="KOFI", payer_phone=None, payer_proven=True, reference_text="K7M2QX",
        telco_at=NOW - MINUTE_US, stored_at=NOW, historical=False, standing="open", reversed_at=None,
    )  # fmt: skip
    return replace(plain, **changes)  # fields by name


def decide(
    paid: Payment, coded: list[Transaction], expecting: Transaction | None = None, *, late_policy: str = "accept"
) -> Decision:
    return match(paid, coded, expecting, late_policy=late_policy)


@pytest.mark.parametrize(
    ("received", "status", "difference", "word"),
    [
        (2500, TransactionStatus.SUCCESS, 0, "exact"),
        (2499, TransactionStatus.PARTIAL, -1, "underpaid"),
        (2501, TransactionStatus.OVERPAID, 1, "overpaid"),
    ],
)
def test_the_verdict_is_exact_short_or_over(
    received: int, status: TransactionStatus, difference: int, word: str
) -> None:
    verdict = compare_amounts(received, 2500)
    assert (verdict.status, verdict.difference_minor, verdict.difference_type) == (status, difference, word)


def test_a_code_pays_its_request() -> None:
    wanted = request()
    assert decide(payment(), [wanted]) == Verify(wanted, compare_amounts(2500, 2500), "code", late=False)


def test_money_without_a_code_is_a_walk_in_that_is_forwarded() -> None:
    assert decide(payment(), []) == Unmatched("no code in use", rejected=False)


def test_a_walk_in_says_when_its_code_was_of_another_time_or_currency() -> None:
    for paid in (payment(currency="UGX"), payment(telco_at=NOW - DAY_US)):
        assert decide(paid, [request()]) == Unmatched("code of another time or currency", rejected=False)


def test_two_codes_are_a_persons_matter_and_move_nothing() -> None:
    coded = [request(), request(id="2", svc_code="Q4T9WD")]
    assert decide(payment(), coded) == Hold(ReviewReason.AMBIGUOUS_CODE, None, moves=False)


def test_one_request_named_twice_is_one_code() -> None:
    assert isinstance(decide(payment(), [request(), request()]), Verify)


def test_money_older_than_the_request_never_matches_by_code() -> None:
    old = payment(telco_at=NOW - HOUR_US - 11 * MINUTE_US)
    assert isinstance(decide(old, [request()]), Unmatched)
    for before in (9 * MINUTE_US, 10 * MINUTE_US):
        paid = payment(telco_at=NOW - HOUR_US - before)
        assert isinstance(decide(paid, [request()]), Verify)
    just_older = payment(telco_at=NOW - HOUR_US - 10 * MINUTE_US - 1)
    assert isinstance(decide(just_older, [request()]), Unmatched)


def test_another_currency_never_matches() -> None:
    assert isinstance(decide(payment(currency="UGX"), [request()]), Unmatched)


@pytest.mark.parametrize("status", ["SUCCESS", "PARTIAL", "OVERPAID"])
def test_a_second_payment_for_a_paid_request_is_extra(status: str) -> None:
    paid = request(status=TransactionStatus(status))
    assert decide(payment(), [paid]) == Hold(ReviewReason.EXTRA_PAYMENT, paid, moves=False)


def test_money_for_a_cancelled_request_is_reviewed() -> None:
    cancelled = request(status=TransactionStatus.CANCELLED)
    assert decide(payment(), [cancelled]) == Hold(ReviewReason.CANCELLED_REQUEST, cancelled, moves=False)


@pytest.mark.parametrize(
    ("payer", "reason"), [("+233200000000", ReviewReason.PAYER_MISMATCH), (None, ReviewReason.PAYER_UNKNOWN)]
)
def test_an_expected_payer_protects_the_request(payer: str | None, reason: ReviewReason) -> None:
    wanted = request(expected_payer_phone="+233241234567")
    assert decide(payment(payer_phone=payer), [wanted]) == Hold(reason, wanted, moves=True)


def test_the_expected_payer_pays() -> None:
    wanted = request(expected_payer_phone="+233241234567")
    assert isinstance(decide(payment(payer_phone="+233241234567"), [wanted]), Verify)


def test_a_code_with_another_id_than_expected_is_reviewed() -> None:
    wanted = request(expected_telco_transaction_id="90000000000")
    assert decide(payment(), [wanted]) == Hold(ReviewReason.TELCO_ID_MISMATCH, wanted, moves=True)


def test_an_expected_id_pays_without_a_code() -> None:
    wanted = request(expected_telco_transaction_id="86105511902")
    assert decide(payment(), [], wanted) == Verify(wanted, compare_amounts(2500, 2500), "telco_id", late=False)


def test_the_code_of_one_and_the_expected_id_of_another_are_ambiguous() -> None:
    expecting = request(id="2", svc_code="Q4T9WD", expected_telco_transaction_id="86105511902")
    assert decide(payment(), [request()], expecting) == Hold(ReviewReason.AMBIGUOUS_CODE, None, moves=False)


def test_a_clean_payment_pays_a_request_that_is_held() -> None:
    held = request(status=TransactionStatus.MANUAL_REVIEW, held_payment_id="other")
    assert isinstance(decide(payment(), [held]), Verify)


def test_an_unclean_payment_does_not_move_a_held_request() -> None:
    held = request(status=TransactionStatus.MANUAL_REVIEW, expected_payer_phone="+233241234567")
    assert decide(payment(), [held]) == Hold(ReviewReason.PAYER_UNKNOWN, held, moves=False)


class TestLate:
    expired = request(expires_at=NOW - DAY_US, created_at=NOW - 2 * DAY_US)

    def test_accepted_by_default_and_marked(self) -> None:
        decision = decide(payment(), [self.expired])
        assert isinstance(decision, Verify)
        assert decision.late

    def test_reviewed_when_the_shop_says_so(self) -> None:
        assert decide(payment(), [self.expired], late_policy="review") == Hold(
            ReviewReason.LATE, self.expired, moves=False
        )

    def test_rejected_when_the_shop_says_so(self) -> None:
        decision = decide(payment(), [self.expired], late_policy="reject")
        assert isinstance(decision, Unmatched)
        assert decision.rejected

    @pytest.mark.parametrize("policy", ["accept", "review", "reject"])
    def test_after_72_hours_a_person_is_asked_whatever_the_policy(self, policy: str) -> None:
        paid = payment(telco_at=NOW)
        gone = request(expires_at=NOW - LATE_WINDOW_US, created_at=NOW - 9 * DAY_US)
        assert decide(paid, [gone], late_policy=policy) == Hold(ReviewReason.LATE, gone, moves=False)
        nearly = replace(gone, expires_at=NOW - LATE_WINDOW_US + 1)
        assert isinstance(decide(paid, [nearly]), Verify)

    @pytest.mark.parametrize("policy", ["accept", "review", "reject"])
    def test_the_policy_says_nothing_of_money_in_time(self, policy: str) -> None:
        decision = decide(payment(), [request()], late_policy=policy)
        assert isinstance(decision, Verify)
        assert not decision.late

    def test_the_very_moment_of_expiry_is_late_and_the_one_before_is_not(self) -> None:
        for moment, late in ((NOW, True), (NOW - 1, False)):
            decision = decide(payment(telco_at=moment), [request(expires_at=NOW)])
            assert isinstance(decision, Verify)
            assert decision.late is late

    def test_late_money_of_another_payer_moves_nothing(self) -> None:
        wanted = replace(self.expired, expected_payer_phone="+233241234567")
        paid = payment(payer_phone="+233200000000")
        assert decide(paid, [wanted]) == Hold(ReviewReason.PAYER_MISMATCH, wanted, moves=False)

    def test_money_sent_in_time_is_not_late_though_it_arrived_after(self) -> None:
        just = request(expires_at=NOW - MINUTE_US // 2)
        decision = decide(payment(telco_at=NOW - MINUTE_US), [just])
        assert isinstance(decision, Verify)
        assert not decision.late

    def test_a_network_clock_far_ahead_is_ignored(self) -> None:
        decision = decide(payment(telco_at=NOW + HOUR_US), [request(expires_at=NOW + MINUTE_US)])
        assert isinstance(decision, Verify)
        assert not decision.late


# The payer's name, where the receipt carries no number ---------------------------------------------

NAMED = {"expected_payer_phone": "+233241234567", "expected_payer_name": "Kofi Antwi Badu"}


def by_name(paid: Payment, wanted: Transaction, approved: tuple[str, ...] = ()) -> Decision:
    return match(paid, [wanted], None, late_policy="accept", approved=approved)


@pytest.mark.parametrize("name", ["KOFI ANTWI BADU", "BADU KOFI A.", "MR KOFI ANTWI BADU"])
def test_the_expected_name_stands_for_a_number_that_is_not_on_the_receipt(name: str) -> None:
    decision = by_name(payment(payer_name=name), request(**NAMED))
    assert isinstance(decision, Verify)
    assert decision.payer_known_by == "name"


@pytest.mark.parametrize("name", [None, "", "KOFI BADU", "KWAME ANTWI BADU", "K. A. B."])
def test_another_name_or_none_is_a_persons_matter(name: str | None) -> None:
    wanted = request(**NAMED)
    assert by_name(payment(payer_name=name), wanted) == Hold(ReviewReason.PAYER_UNKNOWN, wanted, moves=True)


def test_a_wrong_number_is_not_made_good_by_the_right_name() -> None:
    wanted = request(**NAMED)
    paid = payment(payer_name="KOFI ANTWI BADU", payer_phone="+233550000000")
    for approved in ((), ("+233241234567",)):
        assert by_name(paid, wanted, approved) == Hold(ReviewReason.PAYER_MISMATCH, wanted, moves=True)


def test_a_name_that_was_approved_for_the_expected_number_stands_for_it() -> None:
    wanted = request(expected_payer_phone="+233241234567")
    decision = by_name(payment(), wanted, ("+233241234567",))
    assert isinstance(decision, Verify)
    assert decision.payer_known_by == "approval"
    assert isinstance(by_name(payment(), wanted, ("+233550000000",)), Hold)


def test_a_number_on_the_receipt_needs_no_name() -> None:
    for name in ("X", NAMED["expected_payer_name"]):
        paid = payment(payer_phone="+233241234567", payer_name=name)
        decision = by_name(paid, request(**NAMED))
        assert isinstance(decision, Verify)
        assert decision.payer_known_by is None


def test_without_an_expected_number_no_name_is_asked_for() -> None:
    name = NAMED["expected_payer_name"]
    for paid, wanted in (
        (payment(payer_name=None), request()),
        (payment(payer_name=name), request(expected_payer_name=name)),
    ):
        decision = by_name(paid, wanted)
        assert isinstance(decision, Verify)
        assert decision.payer_known_by is None
