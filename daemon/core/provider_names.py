"""The networks' names on the wire: canonical (`momo_mtn`), short (`mtn`), and for people (decisions.md section 3)."""

from typing import Final

from parsers.read import PROVIDERS, provider_of, provider_of_network

CURRENCIES: Final = frozenset(provider.currency for provider in PROVIDERS.values())
"""What the providers pay in."""
NETWORK_NAMES: Final = {"mtn": "MTN", "telecel": "Telecel", "at": "AT"}
"""What people call the networks themselves."""


def canonical(name: str) -> str | None:
    """Return a provider's canonical name; aliases are accepted, an unknown name gives None."""
    return provider_of(name)


def known() -> tuple[str, ...]:
    """Return the canonical names."""
    return tuple(PROVIDERS)


def aliases() -> tuple[str, ...]:
    """Return the other names that are accepted."""
    return tuple(alias for provider in PROVIDERS.values() for alias in provider.aliases)


def network_of(provider: str) -> str:
    """Return the short lower-case name of a provider's network."""
    return PROVIDERS[provider].network


def currency_of(network: str) -> str | None:
    """Return what a network's wallets hold, by its short name; None for a network that we know no wallet of."""
    provider = provider_of_network(network)
    return None if provider is None else PROVIDERS[provider].currency


def provider_name(provider: str) -> str:
    """Return what people call a provider."""
    return PROVIDERS[provider].display_name


def network_name(network: str | None) -> str:
    """Return what people call a network, empty when it is none that we know."""
    return "" if network is None else NETWORK_NAMES.get(network, network)
