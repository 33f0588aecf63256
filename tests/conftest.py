from __future__ import annotations

import pytest

from tests.support.synth import ACCOUNT, REGION, Assembly, synthesize


@pytest.fixture(scope="session")
def stacks(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """The stacks with default options."""
    return synthesize(tmp_path_factory.mktemp("synth"), account=ACCOUNT, region=REGION)


LONG_FILES = ("workflow", "sdk/test_wheel", "infra", "sdk/test_native", "ui_app", "e2e")
"""Files with long tests begin first, so that two processes end at about the same time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files with long tests first, in the order of ``LONG_FILES``; keep the rest."""

    def place(item: pytest.Item) -> int:
        name = item.nodeid.removeprefix("tests/")
        return next((i for i, one in enumerate(LONG_FILES) if name.startswith(one)), 99)

    items.sort(key=place)
