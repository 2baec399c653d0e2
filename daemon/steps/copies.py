"""A hub's copies of the rows of its branches: only the branch changes them."""

from daemon.core.errors import Refusal
from daemon.store.branches import branches
from daemon.store.engine import Reader
from daemon.wire import ErrorCode


def refuse_copy(reader: Reader, branch_id: str | None) -> None:
    """Refuse to change a row that has this branch.

    Raises:
        Refusal: BELONGS_TO_BRANCH, with the branch's name.
    """
    branch = None if branch_id is None else branches.get(reader, branch_id)
    if branch is not None:
        raise Refusal(ErrorCode.BELONGS_TO_BRANCH, branch=branch.name)
