"""The networks' names: canonical (`momo_mtn`), short (`mtn`) and for people (decisions.md section 3)."""

from typing import Final

PREFIX: Final = "momo_"
DISPLAY_NAMES: Final = {"mtn": "MTN", "telecel": "Telecel", "at": "AT"}
"""Short name -> what people call the network."""
CURRENCIES: Final = frozenset({"GHS"})
"""What these networks pay in."""
ALIASES: Final = {
    "momo_vodafone": "momo_telecel",
    "momo_airteltigo": "momo_at",
    "momo_tigo": "momo_at",
}
"""Accepted and stored as the name on the right."""


def canonical(provider: str) -> str | None:
    """Return the canonical name, None when we know no such provider."""
    name = ALIASES.get(provider, provider)
    return name if name.removeprefix(PREFIX) in DISPLAY_NAMES and name.startswith(PREFIX) else None


def network_of(provider: str) -> str:
    """Return the short lower-case name of a provider's network; a short name stays."""
    return provider.removeprefix(PREFIX)


def display_name(provider: str) -> str:
    """Return what people call a provider or network; an unknown one is called what it is."""
    network = network_of(provider)
    return DISPLAY_NAMES.get(network, network)
