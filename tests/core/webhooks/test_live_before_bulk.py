"""Live deliveries go before bulk resends, and bulk resends still make progress."""

from daemon.core.webhooks.delivery import BULK_WAIT_S_MAX, LIVE_STEP_S, LivePriority


def test_nothing_waits_while_nothing_live_is_on_its_way() -> None:
    assert LivePriority().wait_s(0.0, 0.0) == 0.0


def test_bulk_waits_until_what_is_live_has_made_no_step_for_a_while() -> None:
    precedence = LivePriority()
    precedence.step(100.0)
    precedence.step(100.0 + LIVE_STEP_S / 2)
    assert precedence.wait_s(100.0 + LIVE_STEP_S, 0.0) > 0.0
    assert precedence.wait_s(100.0 + 2 * LIVE_STEP_S, 0.0) == 0.0


def test_in_a_storm_of_live_payments_bulk_still_begins_now_and_then() -> None:
    precedence = LivePriority()
    now, waited = 100.0, 0.0
    while waited < 2 * BULK_WAIT_S_MAX:
        precedence.step(now)
        wait_s = precedence.wait_s(now, waited)
        if wait_s == 0.0:
            break
        now, waited = now + wait_s, waited + wait_s
    assert 0.0 < waited <= BULK_WAIT_S_MAX + 1e-9
