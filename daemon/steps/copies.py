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
    if branch_id is not None:
        raise belongs_to_branch(reader, branch_id)


def belongs_to_branch(reader: Reader, branch_id: str, message: str | None = None) -> Refusal:
    """Return BELONGS_TO_BRANCH with the branch's name."""
    branch = branches.get(reader, branch_id)
    assert branch is not None, "a copy belongs to a branch"
    return Refusal(ErrorCode.BELONGS_TO_BRANCH, message, branch=branch.name)
