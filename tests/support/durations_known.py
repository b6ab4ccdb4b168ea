"""Tests that check a duration on both sides of its limit outside `tests/*/test_durations.py`."""

from collections.abc import Mapping, Sequence

_AGES = "tests/usecases/test_age_limits.py::test_only_rows_beyond_their_age_limit_are_deleted"
_KEYS = "tests/people/test_oidc_keys.py"
_ASKED_ONCE = "test_metadata_is_loaded_once_an_hour_and_keys_every_ten_minutes"
_DISPATCH_ATTACHMENTS = "tests/engine/test_dispatch_attachments.py"
_ROUNDS = "tests/usecases/test_account_rounds.py"
_REQUESTS = "tests/domain/test_payment_requests.py"
_DEBITS = "tests/usecases/test_debit_waits.py"
_PROVIDER_DEBITS = "tests/usecases/test_provider_debits.py"
_PASSKEYS = "tests/people/test_passkeys.py"
_OPEN_TASKS = "tests/usecases/test_open_tasks.py"
_REPORTS = "tests/engine/test_reports.py"
_SANDBOX_NOTIFICATIONS = "tests/adapters/test_sandbox_notifications.py"
_OWN_ACCOUNT = "tests/people/test_own_account.py"
_SANDBOX_PROVIDER = "tests/adapters/test_sandbox_provider.py"
_STRIPE = "tests/adapters/test_stripe_provider.py"
_SWEEP = "tests/usecases/test_sweep_modalities.py"
_SESSIONS = "tests/people/test_sessions.py"
_ALARMS = "tests/usecases/test_alerts.py"
_CLOCKS = "tests/domain/test_watched_clock.py"
_COMPARED = (
    f"{_CLOCKS}::test_clocks_are_compared_once_a_minute_and_every_five_seconds_while_they_differ"
)
_APART = "test_beyond_thirty_seconds_no_time_is_given_and_both_clocks_are_named"
_KEPT_FORMS = (
    "tests/portal/test_kept_forms.py"
    "::test_the_values_are_kept_for_a_day_and_for_ten_minutes_after_they_were_restored"
)
_PAYOUT_DAYS = (
    (
        "tests/usecases/test_import_statements.py::test_a_payout_is_taken_from_two_days_before"
        "_to_twelve_days_after_it_was_paid"
    ),
)
_RECENT = "tests/usecases/test_match_again.py::test_an_import_matches_recent_open_payments_again"
ELSEWHERE: Mapping[str, Sequence[str]] = {
    "contact/escalation/contacts/final_check.py _RECHECK_STATEMENTS_AFTER": (
        "tests/engine/test_statement_age.py::test_an_old_statement_holds_contacts_and_the_explanation_says_so",
    ),
    "contact/escalation/statement_age.py _ONE_DAY": (
        "tests/engine/test_statement_age.py::test_only_banking_days_count",
    ),
    "cases/statements/formats/repeated_entries.py MAX_MOVED": (
        (
            "tests/statements/formats/test_repeated_entries.py::test_an_entry_of_another_day_is"
            "_new_and_within_seven_days_for_a_person"
        ),
    ),
    "cases/statements/matches/again/match_again.py RETRIED_FOR": (_RECENT,),
    "cases/statements/payouts/store.py PAYOUT_EARLY": _PAYOUT_DAYS,
    "cases/statements/payouts/store.py PAYOUT_LATE": _PAYOUT_DAYS,
    "accounts/users/sessions/store.py FORMS_KEPT_FOR": (_KEPT_FORMS,),
    "cases/direct_debit/debit_values.py RESULT_WITHIN": (
        f"{_DEBITS}::test_a_plan_waits_fourteen_days_for_the_result",
    ),
    "cases/direct_debit/debit_values.py _ORDER_LEAD": (
        "tests/domain/test_debit_orders.py::test_a_provider_gets_a_debit_fourteen_days_before",
    ),
    "cases/direct_debit/plan_collections.py _RETRY_AFTER": (
        f"{_DEBITS}::test_a_mandate_that_cannot_be_checked_holds_up_no_other",
    ),
    "cases/modalities/sweep_modalities.py _RETRY_AFTER": (
        f"{_SWEEP}::test_a_modality_that_cannot_be_checked_holds_up_no_other",
    ),
    "cases/direct_debit/providers/settle_mandates.py _OPEN_CHECKED_FOR": (
        f"{_PROVIDER_DEBITS}::test_an_unused_mandate_page_is_checked_for_thirty_days",
    ),
    "cases/direct_debit/files/deliver_files.py _REPEAT_AFTER": (
        f"{_DEBITS}::test_a_failed_delivery_is_repeated_after_five_minutes",
    ),
    "accounts/users/sessions/store.py RESTORABLE_FOR": (_KEPT_FORMS,),
    "platform/watched_clock.py COMPARE_SECONDS": (_COMPARED,),
    "platform/watched_clock.py _COMPARE_SUSPENDED_SECONDS": (_COMPARED,),
    "platform/watched_clock.py WARN_BEYOND": (
        f"{_CLOCKS}::test_clocks_that_agree_log_nothing",
        f"{_CLOCKS}::test_a_difference_beyond_two_seconds_is_logged_and_the_clock_used",
    ),
    "platform/watched_clock.py STOP_BEYOND": (
        f"{_CLOCKS}::test_a_difference_beyond_two_seconds_is_logged_and_the_clock_used",
        f"{_CLOCKS}::{_APART}",
    ),
    "platform/watched_clock.py _SMALLEST_STEP": (
        f"{_CLOCKS}::test_a_clock_that_was_set_is_compared_before_it_is_used",
    ),
    "platform/watched_clock.py _MAX_ROUND_TRIP_SECONDS": (
        f"{_CLOCKS}::test_half_of_the_round_trip_is_subtracted",
        f"{_CLOCKS}::test_a_comparison_with_a_long_round_trip_is_ignored",
    ),
    "contact/escalation/contacts/final_check.py _RECHECK_AFTER": (
        (
            "tests/engine/test_contact_stops.py"
            "::test_a_stopped_contact_is_checked_again_and_sent_after_a_day"
        ),
    ),
    "adapters/payments/sandbox/checkout.py LATE_DELAY": (
        "tests/adapters/test_sandbox_checkout.py::test_notices_are_sent_as_chosen",
    ),
    "adapters/payments/sandbox/checkout.py LIFETIME": (
        f"{_SANDBOX_PROVIDER}::test_an_open_checkout_expires_after_a_day_and_a_pending_one_does_not",
    ),
    "adapters/payments/sandbox/notification_sender.py _RETRY_AFTER": (
        f"{_SANDBOX_NOTIFICATIONS}::test_a_refused_notice_is_sent_again_every_half_minute",
    ),
    "adapters/payments/sandbox/notification_sender.py _GIVE_UP_AFTER": (
        f"{_SANDBOX_NOTIFICATIONS}::test_a_refused_notice_is_abandoned_after_a_day",
    ),
    "adapters/payments/stripe/provider.py _SIGNED_WITHIN_SECONDS": (
        f"{_STRIPE}::test_a_notification_that_is_not_stripes_is_rejected",
    ),
    "adapters/oidc/discovery.py RETRY_AFTER": (
        f"{_KEYS}::test_forged_tokens_do_not_cause_repeated_key_requests",
        f"{_KEYS}::test_an_unavailable_provider_is_asked_again_after_ten_seconds",
    ),
    "adapters/oidc/discovery.py KEYS_LIFETIME": (f"{_KEYS}::{_ASKED_ONCE}",),
    "adapters/oidc/discovery.py METADATA_LIFETIME": (f"{_KEYS}::{_ASKED_ONCE}",),
    "adapters/oidc/tokens.py LEEWAY_SECONDS": (
        "tests/people/test_oidc_tokens.py::test_clocks_may_differ_by_a_minute",
    ),
    "adapters/oidc/tokens.py _LOGOUT_LIFETIME": (
        "tests/people/test_oidc_logout.py::test_a_logout_token_is_valid_for_ten_minutes",
    ),
    "interfaces/cli/findings/installation.py _MAX_SKEW_SECONDS": (
        "tests/people/test_oidc_doctor.py::test_clocks_may_differ_by_half_a_minute",
    ),
    "accounts/users/single_sign_on/sign_on.py ATTEMPT_LASTS": (
        "tests/people/test_oidc_attempts.py::test_an_attempt_lasts_ten_minutes",
    ),
    "accounts/users/single_sign_on/identities.py LOGOUT_KEPT": (
        "tests/people/test_oidc_logout.py::test_a_received_logout_is_kept_for_an_hour",
    ),
    "cases/assignment/preview_rules.py PREVIEW_PERIOD": (
        (
            "tests/portal/test_rules_trial.py"
            "::test_the_effect_counts_the_assignments_of_the_last_30_days"
        ),
    ),
    "operations/alerts/check_alerts.py _MIN_INTERVAL": (
        f"{_ALARMS}::test_only_one_of_many_workers_checks_in_a_minute",
    ),
    "operations/alerts/check_alerts.py ALERTS_KEPT_FOR": (
        "tests/usecases/test_alerts.py::test_old_alerts_and_emails_are_deleted",
    ),
    "operations/alerts/check_alerts.py _DAY": (
        "tests/usecases/test_alerts.py::test_an_alert_about_failures_covers_one_day",
    ),
    "operations/alerts/endpoint_alerts.py _LOGGED_EVERY": (
        (
            "tests/usecases/test_failing_endpoints.py"
            "::test_a_failing_endpoint_is_logged_once_an_hour_across_workers"
        ),
    ),
    "core/events/webhooks/endpoint.py NOTIFY_AFTER": (
        (
            "tests/usecases/test_failing_endpoints.py"
            "::test_a_merchant_is_notified_after_an_hour_of_failures_and_when_it_works_again"
        ),
    ),
    "operations/alerts/check_alerts.py STALE_AFTER": (
        f"{_ALARMS}::test_a_missing_alert_check_is_noticed_after_ten_minutes",
    ),
    "operations/alerts/send_alert_emails.py _LEASE": (
        "tests/usecases/test_alerts.py::test_an_alert_email_of_a_dead_worker_is_not_sent_again",
    ),
    "accounts/installation/alerts/alert.py QUIET_PERIOD": (
        "tests/domain/test_alerts.py::test_a_condition_that_comes_and_goes_is_one_alert",
    ),
    "contact/escalation/reports/delivery_reports.py _MIN_AGE": (
        "tests/engine/test_reports.py::test_a_message_in_doubt_is_queried_after_two_minutes",
    ),
    "contact/escalation/reports/delivery_reports.py REPORTS_KEPT_FOR": (_AGES,),
    "contact/escalation/reports/delivery_reports.py _RETRY_AFTER": (
        "tests/engine/test_reports.py::test_a_report_waits_until_the_answer_is_recorded",
    ),
    "contact/escalation/reports/delivery_reports.py _GIVE_UP_AFTER": (
        f"{_REPORTS}::test_a_report_waits_at_most_a_day_for_the_answer",
    ),
    "operations/dashboards/delivery_providers.py MAX_LIMIT_PERIOD": (
        "tests/portal/test_delivery_providers.py::test_sent_messages_and_delivery_reports_are_shown",
    ),
    "contact/sending/receive_sms.py _KEPT_FOR": (_AGES,),
    "contact/sending/batches/read_statuses.py _KEPT_FOR": (_AGES,),
    "contact/sending/batches/release_batches.py _COPIES_KEPT_FOR": (
        "tests/engine/test_letters_after_restore.py::test_old_manifest_copies_are_removed_except_the_newest",
    ),
    "contact/sending/batches/release_batches.py _LEASE": (
        "tests/engine/test_letter_batches.py::test_the_lease_of_a_batch_lasts_three_minutes",
    ),
    "contact/sending/batches/release_batches.py _ABANDONED_AFTER": (
        "tests/engine/test_letter_batches.py::test_letters_that_were_never_completely_uploaded_are_deleted_after_two_days",
    ),
    "adapters/channels/smtp/channel.py LOGIN_RETRY_SECONDS": (
        "tests/adapters/test_smtp_adapter.py::test_the_connection_is_encrypted_and_authenticated",
    ),
    "cases/replies/reply.py compute_hold_end": (
        "tests/usecases/test_replies.py::test_a_reply_is_stored_and_pauses_the_claim_for_three_business_days",
    ),
    "cases/replies/reply.py _HOLD_BUSINESS_DAYS": (
        "tests/usecases/test_replies.py::test_three_business_days_do_not_include_the_weekend",
    ),
    "contact/sending/adapters.py _NO_PROVIDER_RETRY_SECONDS": (
        "tests/engine/test_provider_rate_limits.py::test_a_contact_waits_for_a_provider_that_was_removed",
    ),
    "contact/escalation/forecast/forecast.py MIN_NOTICE": (
        (
            "tests/domain/test_announcements.py"
            "::test_the_pay_by_date_leaves_time_for_a_transfer_to_be_recorded"
        ),
    ),
    "contact/escalation/store.py _POSTPONE": (
        "tests/engine/test_engine.py::test_a_claim_with_an_unknown_step_does_not_stop_the_others",
    ),
    "contact/escalation/contacts/prepare_contacts.py ATTACHMENT_WAIT": (
        (
            "tests/engine/test_dispatch_attachments.py"
            "::test_a_missing_required_attachment_holds_the_contact_without_a_fallback"
        ),
        (
            "tests/engine/test_dispatch_attachments.py"
            "::test_a_step_without_its_required_attachment_fails_after_seven_days"
        ),
    ),
    "contact/escalation/contacts/outcomes/settlement.py _FIRST_DELAY": (
        "tests/domain/test_settlement.py::test_retry_delays_double_up_to_six_hours",
    ),
    "contact/escalation/contacts/outcomes/settlement.py _MAX_DELAY": (
        "tests/domain/test_settlement.py::test_retry_delays_double_up_to_six_hours",
    ),
    "core/events/webhooks/endpoints.py OVERLAP": (
        "tests/engine/test_deliver_signed.py::test_after_a_day_only_the_new_secret_signs",
    ),
    "core/events/webhooks/retry.py _BATCH_SECONDS": (
        "tests/domain/test_events_pacing.py::test_a_batch_is_sized_to_finish_in_two_seconds",
    ),
    "core/events/webhooks/retry.py DELAYS": (
        (
            "tests/domain/test_retry_schedule.py"
            "::test_a_delivery_has_ten_attempts_over_about_three_days"
        ),
    ),
    "core/events/webhooks/retry.py _MAX_RETRY_AFTER": (
        "tests/domain/test_retry_schedule.py::test_retry_after_is_respected_on_429_and_503",
    ),
    "core/files/uploads.py GRACE": (f"{_AGES}[uploads]",),
    "core/files/uploads.py _TICKET_LIFETIME": (
        "tests/usecases/test_upload.py::test_an_accepted_upload_has_a_row_and_an_audit_row",
    ),
    "platform/database/attempts.py MAX_LIMIT_PERIOD": (
        f"{_AGES}[attempts]",
        "tests/api/test_landing_openings.py::test_one_visitor_can_open_a_link_ten_times_an_hour",
    ),
    "interfaces/landing/claim_page/recent_answers.py _NEWS_PERIOD": (
        "tests/api/test_landing_dispute_answers.py::test_the_answer_is_shown_for_thirty_days",
    ),
    "interfaces/landing/sign_in/requested_links.py MIN_INTERVAL": (
        (
            "tests/api/test_landing_new_link.py"
            "::test_a_repeated_request_within_five_minutes_sends_no_other_link"
        ),
    ),
    "interfaces/landing/sign_in/entered_codes.py CODE_LIFETIME": (
        "tests/api/test_landing_verify.py::test_a_code_works_for_ten_minutes",
    ),
    "interfaces/landing/sign_in/attempt_limits.py MAX_DELAY_SECONDS": (
        (
            "tests/domain/test_landing_attempt_limits.py"
            "::test_the_wait_after_a_letters_code_doubles_up_to_ten_seconds"
        ),
    ),
    "interfaces/landing/sign_in/entered_codes.py _REPEATED_WITHIN": (
        "tests/api/test_landing_verify_twice.py::test_a_repeated_proof_counts_as_a_double_click_for_ten_seconds",
    ),
    "interfaces/landing/contact_preferences/change_contact.py CHANGE_CODE_LIFETIME": (
        "tests/api/test_landing_preferences.py::test_a_code_works_for_ten_minutes",
    ),
    "interfaces/landing/session/drafts.py DRAFT_LIFETIME": (
        (
            "tests/api/test_landing_evidence.py"
            "::test_drafts_and_their_unsent_files_are_deleted_after_thirty_days"
        ),
    ),
    "interfaces/landing/session/session.py SESSION_LIFETIME": (
        "tests/api/test_landing_claim.py::test_after_an_hour_the_page_shows_only_that_the_session_timed_out",
    ),
    "interfaces/landing/session/session.py PREVIOUS_TOKEN_LIFETIME": (
        "tests/api/test_landing_session_extension.py::test_the_previous_cookie_is_valid_for_ten_seconds",
        "tests/api/test_landing_openings.py::test_clicks_within_ten_seconds_count_as_one_opening",
        "tests/api/test_landing_verify_twice.py::test_a_repeated_proof_counts_as_a_double_click_for_ten_seconds",
    ),
    "interfaces/landing/session/session.py ENDED_SESSION_RETENTION": (f"{_AGES}[debtor_sessions]",),
    "interfaces/landing/session/session.py EXPIRY_WARNING": (
        "tests/api/test_landing_claim.py::test_a_warning_is_shown_in_the_last_five_minutes",
    ),
    "interfaces/landing/disputes/receive_form.py _MIN_LIFETIME": (
        (
            "tests/faults/test_api_storage_away.py"
            "::test_remaining_content_of_a_debtors_file_is_removed_after_an_hour"
        ),
    ),
    "operations/keys/versions.py _GUARDS_COVERED_AFTER": (
        "tests/usecases/test_key_versions.py::test_a_version_can_be_removed_nine_days_after_the_next",
    ),
    "accounts/merchants/credentials/credentials.py OLD_SECRET_LIFETIME": (
        (
            "tests/usecases/test_credentials.py"
            "::test_the_old_secret_works_for_a_day_after_a_rotation"
        ),
    ),
    "accounts/merchants/store.py RESPONSES_KEPT_FOR": (
        f"{_AGES}[idempotency_keys]",
        "tests/api/test_api_idempotency.py::test_a_key_is_kept_for_thirty_days",
    ),
    "accounts/merchants/credentials/tokens.py WINDOW": (
        "tests/api/test_api_sign_in_limits.py::test_the_twenty_first_wrong_secret_is_not_checked",
    ),
    "accounts/merchants/store.py sweep_merchant_rows": (f"{_AGES}[request_quotas]",),
    "accounts/merchants/credentials/tokens.py TOKEN_LIFETIME": (
        "tests/api/test_api_token.py::test_a_token_expires_after_an_hour",
    ),
    "contact/messages/guards/guards.py _WEEK": (
        "tests/domain/test_guards.py::test_the_week_is_the_day_and_the_six_before",
    ),
    "cases/modalities/limits.py compute_deferral_range": (
        "tests/domain/test_modality_bounds.py::test_a_deferment_ends_tomorrow_or_by_the_limit",
    ),
    "cases/modalities/offers.py _MIN_GAP": (
        "tests/domain/test_deferment_offers.py::test_offered_days_are_within_the_merchants_limits",
    ),
    "cases/modalities/offers.py _TOMORROW": (
        (
            "tests/domain/test_modality_bounds.py"
            "::test_a_plan_that_would_end_too_late_is_offered_from_tomorrow"
        ),
    ),
    "cases/modalities/offers.py _USUAL_FIRST_DATE": (
        "tests/domain/test_modality_bounds.py::test_offers_have_exact_dates_and_sums",
    ),
    "cases/modalities/offers.py _WEEK": (
        "tests/domain/test_deferment_offers.py::test_offered_days_are_within_the_merchants_limits",
    ),
    "cases/modalities/progress.py GRACE": (
        (
            "tests/domain/test_modality_progress.py"
            "::test_a_plan_breaks_on_the_eighth_day_after_an_unpaid_instalment"
        ),
    ),
    "cases/modalities/progress.py _REMINDER_LEAD": (
        (
            "tests/domain/test_plan_notices.py"
            "::test_an_instalment_is_notified_three_days_before_and_on_the_day_after"
        ),
    ),
    "cases/modalities/sweep_modalities.py QUIET_AFTER_BREAK": (
        "tests/engine/test_plan_notices_sent.py::test_the_notice_of_a_broken_plan_is_sent_a_day_before_any_step_runs",
        "tests/engine/test_plan_notices_sent.py::test_the_claim_is_held_until_the_notice_of_the_end_of_the_plan_was_sent",
    ),
    "contact/notices/notice.py REPEATED_WITHIN": (
        "tests/usecases/test_send_notice.py::test_a_repeated_request_within_ten_seconds_is_a_double_click",
    ),
    "contact/notices/notice_outcomes.py NOTICES_KEPT_FOR": (f"{_AGES}[debtor_notices]",),
    "contact/notices/notice.py _FIRST_DELAY": (
        "tests/domain/test_notices.py::test_each_answer_of_a_channel_has_its_settlement",
    ),
    "contact/notices/notice.py _MAX_DELAY": (
        "tests/domain/test_notices.py::test_a_notice_is_retried_after_at_most_ten_minutes",
    ),
    "platform/banking_days.py _BANKING_DAYS": (
        "tests/domain/test_banking_days.py::test_three_banking_days_pass",
    ),
    "cases/payments/requests/settle_payment.py _HOLD_DURATION": (
        (
            "tests/usecases/test_settle_payment.py"
            "::test_a_pending_payment_holds_the_claim_for_at_most_five_days"
        ),
    ),
    "cases/payments/requests/request_states.py EXPIRES_AFTER": (
        ("tests/domain/test_payment_requests.py::test_an_open_request_expires_after_exactly_a_day"),
    ),
    "cases/payments/requests/request_states.py OPEN_CHECKED_FOR": (
        (
            "tests/domain/test_payment_requests.py"
            "::test_a_checkout_that_its_provider_leaves_open_is_checked_for_thirty_days"
        ),
    ),
    "cases/payments/requests/request_states.py CHECK_DELAYS": (
        (
            "tests/domain/test_check_schedule.py"
            "::test_delays_between_checks_grow_from_a_minute_to_a_day_with_one_at_expiry"
        ),
    ),
    "adapters/payments/callbacks.py _CHECK_PERIOD": (
        "tests/adapters/test_payment_callbacks.py::test_after_ten_notifications_in_a_minute_the_periodic_check_asks_the_provider",
    ),
    "cases/payments/review_money.py REFUND_OVERDUE_AFTER": (
        "tests/usecases/test_review_money.py::test_a_refund_that_is_not_made_for_a_week_waits_for_staff_until_it_is_made",
    ),
    "cases/payments/refunds/send_refunds.py REPEAT_DELAYS": (
        "tests/usecases/test_refund_payment.py::test_an_order_without_an_answer_is_repeated_with_its_key",
    ),
    "cases/payments/requests/check_payments.py _REPEAT_AFTER": (
        f"{_ROUNDS}::test_a_weekly_check_without_an_answer_is_repeated_after_ten_minutes",
    ),
    "cases/payments/requests/account_rounds.py PAUSES": (
        f"{_ROUNDS}::test_each_failure_in_a_row_makes_the_pause_of_an_account_longer",
    ),
    "cases/payments/requests/account_rounds.py CLOSED_PAUSES": (
        "tests/usecases/test_closed_accounts.py::test_nobody_is_alerted_of_a_closed_account_and_staff_sees_since_when_it_fails",
    ),
    "cases/payments/requests/account_rounds.py ALERT_AFTER": (
        f"{_ROUNDS}::test_an_account_without_answers_pauses_and_is_alerted_after_an_hour",
    ),
    "cases/payments/requests/account_rounds.py _RENEW_AFTER": (
        f"{_ROUNDS}::test_nothing_is_called_for_a_missing_account_and_nothing_is_lost",
    ),
    "cases/payments/requests/request_states.py REFUND_CHECKS": (
        f"{_REQUESTS}::test_a_refund_is_looked_for_after_minutes_then_hours_then_days",
    ),
    "cases/payments/requests/request_states.py RETURN_CHECKS": (
        f"{_REQUESTS}::test_a_completed_request_is_checked_weekly_and_then_monthly",
        f"{_REQUESTS}::test_a_completed_request_is_not_checked_after_thirteen_months",
    ),
    "operations/recovery/archive.py BASE_INTERVAL": (
        "tests/domain/test_archive_bases.py::test_a_base_backup_is_due_when_the_last_is_a_week_old",
    ),
    "operations/recovery/archive.py RESTORABLE_FOR": (
        "tests/domain/test_archive_bases.py::test_a_base_backup_is_deleted_once_the_next_is_two_weeks_old",
    ),
    "operations/dashboards/overview.py PAYMENT_DAYS": (
        "tests/usecases/test_read_overview.py::test_the_overview_sums_payments_of_fourteen_days",
    ),
    "operations/dashboards/overview.py RECENT": (
        "tests/usecases/test_read_overview.py::test_the_overview_counts_messages_of_seven_days",
    ),
    "operations/jobs/job.py _EXPORT_RETENTION": (
        "tests/usecases/test_job_exports.py::test_job_and_file_are_deleted_after_a_week",
    ),
    "contact/notices/notice_outcomes.py ANSWERS_KEPT_FOR": (
        ("tests/engine/test_bounced_notices.py::test_the_content_of_an_answer_is_kept_for_30_days"),
    ),
    "accounts/users/manage_users.py INVITATION_LASTS": (
        "tests/people/test_invitations.py::test_a_link_lasts_72_hours",
    ),
    "accounts/users/sessions/confirm_session.py CONFIRMED_FOR": (
        "tests/portal/test_confirmations.py::test_a_sign_in_confirms_a_session_for_ten_minutes",
    ),
    "accounts/users/single_sign_on/sign_on.py CLOCK_LEEWAY": (
        (
            "tests/people/test_oidc_confirmation.py"
            "::test_the_token_must_say_that_its_user_has_just_signed_in"
        ),
    ),
    "accounts/users/sessions/sessions.py TRUSTED_FOR": (
        (
            "tests/people/test_second_factor_limit.py"
            "::test_a_browser_of_the_last_30_days_still_signs_in"
        ),
    ),
    "accounts/users/sign_in/limits.py COUNTED_FOR": (
        "tests/people/test_second_factor_limit.py::test_wrong_codes_are_counted_for_24_hours",
    ),
    "accounts/users/sign_in/passkey_sign_in.py CHALLENGE_LASTS": (
        "tests/people/test_passkeys.py::test_a_challenge_lasts_five_minutes",
    ),
    "accounts/users/factors/recovery_codes.py SHOWN_FOR": (
        f"{_OWN_ACCOUNT}::test_recovery_codes_are_shown_for_half_an_hour_in_the_session_that_made_them",
    ),
    "accounts/users/sessions/session_rules.py IDLE_TIMEOUT": (
        "tests/people/test_sessions.py::test_a_session_ends_after_half_an_hour_without_use",
    ),
    "accounts/users/sessions/session_rules.py JUST_OPENED": (
        f"{_PASSKEYS}::test_a_user_without_a_password_must_have_used_the_passkey_recently",
    ),
    "accounts/users/sessions/session_rules.py MAX_SESSION_AGE": (
        "tests/people/test_sessions.py::test_a_session_in_use_ends_after_eight_hours",
    ),
    "accounts/users/sessions/session_rules.py LAST_USE_PRECISION": (
        f"{_SESSIONS}::test_the_last_use_is_recorded_once_a_minute",
    ),
    "accounts/users/sessions/session_rules.py REMEMBERED": (
        "tests/people/test_sessions.py::test_sessions_are_deleted_after_90_days",
    ),
    "accounts/users/factors/set_up_factor.py SETUP_LASTS": (
        f"{_OWN_ACCOUNT}::test_an_app_setup_lasts_ten_minutes",
    ),
    "accounts/users/sign_in/sign_in.py PENDING_SIGN_IN_LASTS": (
        "tests/people/test_sign_in.py::test_a_pending_sign_in_lasts_ten_minutes",
    ),
    "cases/rollout/trials/send_trial.py _WINDOW": (
        "tests/usecases/test_send_test_message.py::test_twenty_test_messages_are_allowed_in_an_hour",
    ),
    "accounts/users/sign_in/limits.py WINDOW": (
        "tests/people/test_sign_in.py::test_ten_wrong_passwords_lock_an_address_whether_or_not_it_exists",
    ),
    "operations/dashboards/overview.py _FAILED_PERIOD": (
        f"{_OPEN_TASKS}::test_a_message_that_did_not_arrive_waits_for_seven_days",
    ),
}
