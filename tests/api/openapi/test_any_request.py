"""Any body of any operation: what its reader takes is what the document describes, and a refusal names what is wrong."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from msgspec import Struct

import daemon.api.routes  # noqa: F401 -- describes every operation
from daemon.api.openapi.describe import DESCRIPTIONS
from daemon.api.openapi.schemas import body_of
from daemon.core.errors import Refusal
from daemon.core.reading import read
from daemon.core.shape import members

SHAPES = sorted(
    {about.reads for about in DESCRIPTIONS.values() if about.reads is not None},
    key=lambda shape: shape.__name__,
)
VALUES: Any = some.recursive(
    some.none() | some.booleans() | some.integers(-3, 10**7) | some.text(max_size=8),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=5), inner),
    max_leaves=4,
)


def bodies(shape: type[Struct]) -> Any:
    """Return bodies whose members are mostly good: their samples, in part."""
    known = {
        each.name: some.sampled_from(each.kind.json["examples"]) | VALUES
        if "examples" in each.kind.json
        else VALUES
        for each in members(shape)
    }
    return some.fixed_dictionaries({}, optional={**known, "colour": VALUES})


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
@settings(max_examples=30)
@given(data=some.data())
def test_any_body_is_read_as_described_or_refused_with_its_reasons(
    shape: type[Struct], data: Any
) -> None:
    body = data.draw(bodies(shape))
    try:
        read(shape, body)
    except Refusal as refused:
        names = {each.name for each in members(shape)} | {*body, "body"}
        for each in refused.extras["details"]:
            assert each["field"].partition(".")[0].partition("[")[0] in names
        return
    lacks = [each.name for each in members(shape) if each.kind.marks.get("required")]
    if all(body.get(name) is not None for name in lacks):  # else INVALID_PASSWORD
        jsonschema_rs.Draft202012Validator(body_of(shape)).validate(body)
