"""What the tests ask of pages in modules beside them is told as fully as in their own."""

import pytest

pytest.register_assert_rewrite("tests.browser.debtor_journey", "tests.browser.browser_page")
