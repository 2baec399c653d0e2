"""The two pages of the menu that lead on: what belongs to the shop, and what is for developers."""

from daemon.dash.web.visit import Shown, Visit


async def show_shop(_visit: Visit) -> Shown:
    """Show the links to lines, books and upkeep."""
    return Shown("upkeep/menu.html", {"shown": ("lines", "books", "upkeep")})


async def show_developers(_visit: Visit) -> Shown:
    """Show the links to webhooks and keys."""
    return Shown("upkeep/menu.html", {"shown": ("webhooks",)})
