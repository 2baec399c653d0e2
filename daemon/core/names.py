"""Names of networks, numbers and people for display; canonical (`momo_mtn`) and short (`mtn`) provider names. Pure.

Masked phone numbers and shortened names are enough for their owner to recognise them.
"""

from typing import Final

from daemon.core.errors import FieldError
from daemon.core.text import Text
from parsers.phone import NETWORK_NAMES
from parsers.read import PROVIDERS, provider_of, provider_of_network

SHOP_NAME_CHARACTERS_MAX: Final = 100
CURRENCIES: Final = frozenset(provider.currency for provider in PROVIDERS.values())
"""The currencies of all providers."""
SHOP_NAME_FOR_NOW: Final = "My shop"
"""The name of a shop until its owner gives it one in the browser."""


def national_format(number: str) -> str:
    """Return a number in national format, as dialled in its country."""
    return "0" + number.removeprefix("+233") if number.startswith("+233") else number


def mask_number(number: str | None) -> str | None:
    """Return a number with its middle hidden, such as `024 *** 4567`."""
    if number is None:
        return None
    here = national_format(number)
    return f"{here[:3]} *** {here[-4:]}" if len(here) >= 9 else "***"


def short_name(name: str | None) -> str | None:
    """Return a first name and the initial of the last, such as `Kofi B.`."""
    words = (name or "").split()
    if not words:
        return None
    return words[0] if len(words) == 1 else f"{words[0]} {words[-1][0]}."


def group_digits(number: str) -> str:
    """Return a number of ten digits in groups, such as `024 412 4567`; any other number unchanged."""
    return f"{number[:3]} {number[3:6]} {number[6:]}" if len(number) == 10 else number


def canonical_name(name: str) -> str | None:
    """Return a provider's canonical name; aliases are accepted, an unknown name gives None."""
    return provider_of(name)


def canonical_names() -> tuple[str, ...]:
    """Return the canonical names."""
    return tuple(PROVIDERS)


def provider_aliases() -> tuple[str, ...]:
    """Return the aliases that are accepted besides the canonical names."""
    return tuple(alias for provider in PROVIDERS.values() for alias in provider.aliases)


def network_of(provider: str) -> str:
    """Return the short lower-case name of a provider's network."""
    return PROVIDERS[provider].network


def currency_of(network: str) -> str | None:
    """Return the currency of a network's wallets by its short name; None if no provider of that network is known."""
    provider = provider_of_network(network)
    return None if provider is None else PROVIDERS[provider].currency


def provider_name(provider: str) -> str:
    """Return the display name of a provider."""
    return PROVIDERS[provider].display_name


def network_name(network: str | None) -> str:
    """Return the display name of a network, an unknown name unchanged, or "" for None."""
    return "" if network is None else NETWORK_NAMES.get(network, network)


def shop_name_error(name: str) -> FieldError | None:
    """Return the error of a shop's name, on the field `shop`; None if it is good."""
    if 0 < len(name) <= SHOP_NAME_CHARACTERS_MAX and name.isprintable():
        return None
    text = Text("field.shop.name", most=SHOP_NAME_CHARACTERS_MAX)
    return FieldError("shop", "required" if not name else "invalid", text)
