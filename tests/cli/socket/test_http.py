"""The reader of an answer gives the same result however the bytes arrive, and a clear error for anything else."""

import http.client
import io
from collections.abc import Sequence
from typing import TypeAlias, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from momo_cli.errors import Failure
from momo_cli.socket.http import MalformedAnswerError, Response, request
from tests.fakes.each import each

BODY_MAX = 4096
Outcome: TypeAlias = tuple[object, ...]


class Wire:
    """A connection that delivers the given pieces, and then ends or times out."""

    def __init__(self, pieces: Sequence[bytes], *, hangs: bool = False) -> None:
        self._pieces = [piece for piece in pieces if piece]
        self._hangs = hangs

    def recv(self, size: int) -> bytes:
        if not self._pieces:
            if self._hangs:
                raise TimeoutError
            return b""
        piece = self._pieces[0][:size]
        self._pieces[0] = self._pieces[0][size:]
        if not self._pieces[0]:
            del self._pieces[0]
        return piece


class Whole:
    """A socket for `http.client`, with all bytes of an answer."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._answer)


def cut(answer: bytes, places: Sequence[int]) -> list[bytes]:
    """Split the bytes at places; each is taken modulo the length."""
    ends = sorted({place % (len(answer) + 1) for place in places} | {len(answer)})
    return [answer[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def outcome(pieces: Sequence[bytes], *, by_line: bool, hangs: bool = False) -> Outcome:
    """Return all that a caller sees of an answer."""
    try:
        found = Response(Wire(pieces, hangs=hangs).recv, body_max=BODY_MAX)
        body = list(iter(found.readline, b"")) if by_line else [found.read()]
    except (OSError, MalformedAnswerError) as problem:
        return type(problem), str(problem)
    return found.status, found.headers, body


tokens = st.text("abcXYZ-", min_size=1, max_size=8)
values = st.text(st.characters(min_codepoint=33, max_codepoint=255, exclude_categories=["Cc"]), max_size=9)
bodies = st.binary(max_size=200) | st.text("ab:\r\n", max_size=80).map(str.encode)
places_of = st.lists(st.integers(0, 10_000), max_size=12)


@st.composite
def answers(draw: st.DrawFn) -> tuple[bytes, bytes, bool]:
    """Make a correct answer, its body, and whether the body's end is marked."""
    body = draw(bodies)
    fields = [f"X-{name}: {value}" for name, value in draw(st.lists(st.tuples(tokens, values), max_size=4))]
    framing = draw(st.sampled_from(("length", "chunked", "close")))
    sent = body
    if framing == "length":
        fields.append(f"content-length: {len(body)}")
    elif framing == "chunked":
        fields.append("Transfer-Encoding: Chunked")
        chunks = [piece for piece in cut(body, draw(places_of)) if piece]
        extension, trailer = draw(st.sampled_from(("", ";a=b"))), draw(st.sampled_from(("", "X-T: 1\r\n")))
        sent = b"".join(f"{len(c):x}{extension}\r\n".encode() + c + b"\r\n" for c in chunks)
        sent += f"0\r\n{trailer}\r\n".encode()
    interim = draw(st.sampled_from(("", "HTTP/1.1 100 Continue\r\n\r\n")))
    status = draw(st.sampled_from(("200 OK", "404 Not Found", "503 ", "299")))
    head = "\r\n".join([f"HTTP/1.1 {status}", *fields, "", ""])
    return (interim + head).encode("latin-1") + sent, body, framing != "close"


@example((b"HTTP/1.1 200 OK\r\nA: \xa0\r\nContent-Length: 0\r\n\r\n", b"", True), [], False)
@given(answers(), places_of, st.booleans())
def test_a_correct_answer_is_read_however_its_bytes_are_split(
    made: tuple[bytes, bytes, bool], places: list[int], by_line: bool
) -> None:
    answer, body, _ = made
    status, headers, found = outcome(cut(answer, places), by_line=by_line)
    assert found == (list(iter(io.BytesIO(body).readline, b"")) if by_line else [body])
    library = http.client.HTTPResponse(Whole(answer))  # type: ignore[arg-type]  # needs only `makefile`
    library.begin()
    assert (library.status, tuple(library.getheaders()), library.read()) == (status, headers, body)


@given(answers(), places_of, st.booleans(), st.integers(0, 10_000))
def test_an_answer_that_breaks_off_is_never_taken_for_a_whole_one(
    made: tuple[bytes, bytes, bool], places: list[int], by_line: bool, end: int
) -> None:
    answer, _, marked = made
    head = answer.rindex(b"\r\n\r\n", 0, answer.index(b"\r\n\r\n", 30 if answer[9:10] == b"1" else 0) + 4) + 4
    most = len(answer) if marked else head
    cut_off = answer[: end % most]
    for hangs, error in ((False, ConnectionError), (True, TimeoutError)):
        found = outcome(cut(cut_off, places), by_line=by_line, hangs=hangs)
        assert found[0] is error, found


@given(answers(), st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=3), places_of)
def test_a_damaged_answer_has_one_outcome_however_its_bytes_are_split(
    made: tuple[bytes, bytes, bool], changes: list[tuple[int, int]], places: list[int]
) -> None:
    answer = bytearray(made[0])
    for place, value in changes:
        answer[place % len(answer)] = value
    whole = outcome([bytes(answer)], by_line=False)
    assert whole == outcome(cut(bytes(answer), places), by_line=False)
    assert whole == outcome([bytes([each]) for each in answer], by_line=False)


@each(
    ("answer", "why"),
    [
        (b"hello\r\n", "not HTTP/1.1"),
        (b"HTTP/2 200\r\n\r\n", "not HTTP/1.1"),
        (b"HTTP/1.1 2000\r\n\r\n", "not HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "not HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "not HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "not HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n12", "not HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n", "not HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\n", "not HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1_0\r\n", "not HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", "not HTTP/1.1"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4097\r\n\r\n" + b"x" * 4097, "longer than 4096 bytes"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 4097, "longer than 4096 bytes"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 20_000, "headers are longer than 65536 bytes"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 5_000, "headers are longer than 65536 bytes"),
    ],
)
@each("by_line", [False, True])
def test_an_answer_outside_the_protocol_or_its_limits_is_named(answer: bytes, why: str, by_line: bool) -> None:
    found = outcome([answer], by_line=by_line)
    assert found[0] is MalformedAnswerError
    assert why in cast("str", found[1])


def test_a_stream_longer_than_the_limit_of_a_body_is_read_line_by_line() -> None:
    line = b"x" * (BODY_MAX - 1) + b"\n"
    answer = b"HTTP/1.1 200 OK\r\n\r\n" + line * 10
    assert outcome([answer], by_line=True)[2] == [line] * 10


def test_a_line_is_returned_before_the_next_one_comes() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    found = Response(Wire([head, b"6\r\nid: 1\n\r\n"], hangs=True).recv)
    assert found.readline() == b"id: 1\n"
    with pytest.raises(TimeoutError):
        found.readline()


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_without_a_body_ends_with_its_head(status: int) -> None:
    answer = f"HTTP/1.1 {status} \r\nContent-Length: 5\r\n\r\n".encode()
    assert outcome([answer], by_line=False, hangs=True)[2] == [b""]


def test_a_request_has_the_length_of_its_body() -> None:
    assert request("GET", "/a", {"Host": "h"}, None) == b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
    assert request("POST", "/a", {}, None) == b"POST /a HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
    assert request("POST", "/a", {}, b"{}") == b"POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"


@pytest.mark.parametrize("value", ["a\r\nX-Forged: 1", "a\nb", "ɔ", "\x00"])
def test_a_header_cannot_contain_another_one(value: str) -> None:
    for name, text in (("Idempotency-Key", value), (value, "text")):
        with pytest.raises(Failure, match="an HTTP header cannot have"):
            request("GET", "/a", {name: text}, None)
