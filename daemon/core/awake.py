"""Whether the machine is kept from sleeping while the shop is served, and how far that goes (`[power] keep_awake`). Pure."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

OFF: Final = "off"
PLUGGED: Final = "plugged"
ALWAYS: Final = "always"
CHOICES: Final = (OFF, PLUGGED, ALWAYS)


class Hold(StrEnum):
    """How far the machine is kept awake now."""

    OFF = "off"
    """Nobody asked for it."""
    HELD = "held"
    IDLE_ONLY = "idle_only"
    """It does not fall asleep by itself where the system obeys that; a desktop's own timer may still put it to sleep."""
    ON_BATTERY = "on_battery"
    """It may sleep: it is to be kept awake while it is plugged in, and it is not."""
    REFUSED = "refused"


@dataclass(slots=True)
class Wakefulness:
    """What `momo status` and the doctor show. `why` is what the system said to a hold that is not whole."""

    hold: Hold = Hold.OFF
    why: str = ""


def wanted(setting: str, *, on_mains: bool) -> bool:
    """Say whether the machine is to be kept awake now."""
    return setting == ALWAYS or (setting == PLUGGED and on_mains)
