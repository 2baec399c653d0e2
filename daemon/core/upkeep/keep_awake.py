"""Whether the machine is kept awake while the shop is served (`[power] keep_awake`). Pure."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

OFF: Final = "off"
PLUGGED: Final = "plugged"
ALWAYS: Final = "always"
CHOICES: Final = (OFF, PLUGGED, ALWAYS)


class AwakeState(StrEnum):
    """The state of keeping the machine awake."""

    OFF = "off"
    """The setting is off."""
    HELD = "held"
    IDLE_ONLY = "idle_only"
    """The system does not go to sleep on idle; the desktop's own timer may still suspend it."""
    ON_BATTERY = "on_battery"
    """It may sleep: it is kept awake only while plugged in, and runs on battery now."""
    REFUSED = "refused"


class AwakeStatus(Struct):
    """The state shown by `momo status` and the doctor. `why` is the system's reason if it did not grant the full request."""

    hold: AwakeState = AwakeState.OFF
    why: str = ""


def should_keep_awake(setting: str, *, on_mains: bool) -> bool:
    """Return whether the machine should be kept awake now."""
    return setting == ALWAYS or (setting == PLUGGED and on_mains)
