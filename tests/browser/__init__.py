"""Tests with a browser. Failed assertions in these modules show their values."""

import pytest

pytest.register_assert_rewrite("tests.browser.debtor_journey", "tests.browser.browser_page")
