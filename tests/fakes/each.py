"""Many rows of one quick check in one test: pytest's own work for a test takes longer than such a check."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def each(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[[Any], Any]:
    """Run the test for each row, as `pytest.mark.parametrize` does, but as one test with its fixtures made once.

    All rows run, and the failure of each one is reported with the row. For checks that leave nothing behind for the next row.
    """
    members = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    given = [row if len(members) > 1 else (row,) for row in rows]
    assert given, "a check of no rows cannot fail"

    def decorate(test: Any) -> Any:
        if inspect.iscoroutinefunction(test):

            @functools.wraps(test)
            async def run(**fixtures: Any) -> None:
                failed = []
                for row in given:
                    try:
                        await test(**fixtures, **dict(zip(members, row, strict=True)))
                    except Exception as error:  # noqa: BLE001 -- all of them are raised below
                        failed.append(_with_row(error, row))
                _raise(failed)

        else:

            @functools.wraps(test)
            def run(**fixtures: Any) -> None:
                failed = []
                for row in given:
                    try:
                        test(**fixtures, **dict(zip(members, row, strict=True)))
                    except Exception as error:  # noqa: BLE001 -- all of them are raised below
                        failed.append(_with_row(error, row))
                _raise(failed)

        signature = inspect.signature(test)
        asked = [found for name, found in signature.parameters.items() if name not in members]
        run.__signature__ = signature.replace(parameters=asked)  # type: ignore[attr-defined]  # pytest reads it
        return run

    return decorate


def _with_row(error: Exception, row: Any) -> Exception:
    error.add_note(f"in the row {row!r}")
    return error


def _raise(failed: list[Exception]) -> None:
    if failed:
        raise ExceptionGroup("rows that failed", failed)
