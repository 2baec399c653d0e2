"""The store's tests on both engines."""

from tests.fakes.engines import engine, pytest_generate_tests

__all__ = ["engine", "pytest_generate_tests"]
