"""Home SMSCs: the numbers through which a SIM's own network sends."""

from daemon.core.messages.trust import is_home
from tests.fakes.each import each

HOME = "+233240000099"


@each(
    ("smsc", "home"),
    [
        (HOME, True),
        ("233240000099", True),
        ("+233240000001", True),
        ("+233240000199", False),
        ("+447000000001", False),
        ("+2332400000991", False),
        ("", False),
        (None, False),
        ("99", False),
    ],
)
def test_a_number_that_differs_from_a_home_one_in_the_last_two_digits_only_is_home(
    smsc: str | None, *, home: bool
) -> None:
    assert is_home(smsc, [HOME]) is home


def test_while_no_smsc_is_home_every_message_is_foreign() -> None:
    assert not is_home(HOME, [])
    assert not is_home(None, [])
