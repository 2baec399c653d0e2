"""The faster constructor of frozen dataclasses: like the usual one in all but time."""

from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from daemon.core.fast_init import fast_init


@fast_init
@dataclass(frozen=True, slots=True)
class Fast:
    number: int
    text: str = "a"
    parts: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Usual:
    number: int
    text: str = "a"
    parts: list[int] = field(default_factory=list)


def test_it_takes_the_same_arguments() -> None:
    assert repr(Fast(1)) == "Fast(number=1, text='a', parts=[])"
    assert Fast(1, "b", [2]) == Fast(number=1, parts=[2], text="b")
    assert replace(Fast(1), text="c") == Fast(1, "c")
    assert type(Fast(1)) is Fast
    assert Fast(1).parts is not Fast(1).parts


@pytest.mark.parametrize("kind", [Fast, Usual])
def test_a_missing_or_unknown_argument_is_refused(kind: type) -> None:
    with pytest.raises(TypeError, match="number"):
        kind()
    with pytest.raises(TypeError, match="other"):
        kind(1, other=2)


@pytest.mark.parametrize("kind", [Fast, Usual])
def test_it_stays_frozen(kind: type) -> None:
    made = kind(1)
    with pytest.raises(FrozenInstanceError):
        made.number = 2
    with pytest.raises((AttributeError, TypeError)):
        made.another = 2


def test_two_are_equal_and_hashed_by_their_values() -> None:
    assert Fast(1, "a", ()) == Fast(1, "a", ())  # type: ignore[arg-type]
    assert hash(Fast(1, "a", ())) == hash(Fast(1, "a", ()))  # type: ignore[arg-type]
    assert Fast(1) != Fast(2)
