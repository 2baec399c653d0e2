"""A phone for USSD over the menu of the emulated phone, without an AT session."""

import asyncio

from daemon.core.lines.ussd import UssdEnd, UssdMenu
from tests.phones import ussd
from tests.phones.faults import Faults


class FakeUssdPort:
    """One phone; `hangs` lets no answer come, and `instead` is what the next reply gets without being sent."""

    def __init__(self) -> None:
        self.menu = ussd.Ussd(Faults())
        self.hangs = False
        self.instead: UssdMenu | None = None
        self.cancelled = 0

    @property
    def typed(self) -> list[str]:
        return self.menu.typed

    async def send(self, text: str, *, opens: bool) -> UssdMenu:
        if self.instead is not None and not opens:
            menu, self.instead = self.instead, None
            return menu
        lines: list[str] = []
        self.menu.perform("=", f'1,"{text}",15', lines)
        if self.hangs:
            await asyncio.Event().wait()
        return UssdMenu(lines[0].split('"')[1], None if self.menu.is_open else UssdEnd.ANSWERED)

    async def cancel(self) -> None:
        self.cancelled += 1
        self.menu.is_open = False
