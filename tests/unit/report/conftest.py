"""A small fit, and a way to make a page and read it back."""

import pytest
from support.report_pages import animals as small
from support.report_pages import data_of

import dcomp


@pytest.fixture(scope="session")
def animals():
    return small()


@pytest.fixture
def made(tmp_path):
    """Write a report and read it back: the page, and its data."""

    def make(*given, **options):
        path = dcomp.report(*given, path=tmp_path / "r.html", overwrite=True, **options)
        page = path.read_text(encoding="utf-8")
        return page, data_of(page)

    return make
