"""Durations of sign-in by providers, of alarms and of rules -> the tests that try them."""

from collections.abc import Mapping, Sequence

_KEYS = "tests/people/test_oidc_keys.py"
_ASKED_ONCE = "test_it_is_asked_once_an_hour_and_for_its_keys_every_ten_minutes"

OUTSIDE: Mapping[str, Sequence[str]] = {
    "adapters/oidc/asking.py ASKED_AGAIN": (
        f"{_KEYS}::test_forged_tokens_do_not_have_it_asked_all_the_time",
        f"{_KEYS}::test_one_that_is_away_is_asked_again_after_ten_seconds",
    ),
    "adapters/oidc/asking.py KEYS_LAST": (f"{_KEYS}::{_ASKED_ONCE}",),
    "adapters/oidc/asking.py METADATA_LASTS": (f"{_KEYS}::{_ASKED_ONCE}",),
    "adapters/oidc/tokens.py LEEWAY_SECONDS": (
        "tests/people/test_oidc_tokens.py::test_clocks_may_differ_by_a_minute",
    ),
    "adapters/oidc/tokens.py _LOGOUT_LASTS": (
        "tests/people/test_oidc_logout.py::test_a_token_is_good_for_ten_minutes",
    ),
    "cli/findings/sign_in.py _MOST_SKEW_SECONDS": (
        "tests/people/test_oidc_doctor.py::test_clocks_may_differ_by_half_a_minute",
    ),
    "people/single_sign_on/attempt.py ATTEMPT_LASTS": (
        "tests/people/test_oidc_attempts.py::test_an_attempt_waits_ten_minutes",
    ),
    "people/single_sign_on/take_logout.py LOGOUT_KEPT": (
        "tests/people/test_oidc_logout.py::test_what_was_told_is_kept_for_an_hour",
    ),
    "assignment/preview_rules.py LOOKS_BACK": (
        (
            "tests/portal/test_rules_tried.py"
            "::test_the_effect_counts_where_the_claims_of_30_days_would_have_gone"
        ),
    ),
    "alarms/look.py _EVERY": (
        "tests/usecases/test_alarms.py::test_one_worker_of_many_looks_in_a_minute",
    ),
    "alarms/look.py KEPT_FOR": ("tests/usecases/test_alarms.py::test_what_is_old_is_taken_out",),
    "alarms/look.py _DAY": ("tests/usecases/test_alarms.py::test_figures_are_of_one_day",),
    "alarms/read_alarms.py STALE_AFTER": (
        "tests/usecases/test_alarms.py::test_that_nobody_looks_is_seen",
    ),
    "alarms/send_mails.py _ANSWERED_WITHIN": (
        "tests/usecases/test_alarms.py::test_what_a_dead_worker_held_is_not_sent_again",
    ),
    "installation/alarms/alarm.py CALM": (
        "tests/domain/test_alarms.py::test_what_comes_and_goes_is_one_alarm",
    ),
}
