"""Each row of the tables of the API and of delivery has its test."""

from tests.fakes import api_rows as rows


def test_every_row_names_a_test_that_exists() -> None:
    missing = [
        f"{row.text}: {row.file} {row.function}"
        for row in (*rows.other_rows(), *rows.delivery_rows())
        if row.function not in rows.functions(row.file)
    ]
    assert missing == []


def test_every_error_of_the_api_is_given_in_a_test_of_the_api() -> None:
    assert [row.text for row in rows.error_rows() if not row.function] == []


def test_a_row_whose_test_is_gone_is_found() -> None:
    assert "test_that_never_was" not in rows.functions("api/test_rows.py")
    assert rows.functions("api/no_such_file.py") == set()
    assert "test_a_field_is_there_of_its_type_and_within_its_limits" in rows.functions(
        "api/test_rows.py"
    )


def test_no_row_is_there_twice() -> None:
    texts = [(row.group, row.text) for row in (*rows.other_rows(), *rows.delivery_rows())]
    assert len(set(texts)) == len(texts)
