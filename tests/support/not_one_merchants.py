"""Statements that are of no one merchant, each with the reason; and those that two merchants with
the same rows cannot try, with what does.
"""

from collections.abc import Mapping, Sequence


def _name(reasons: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
    return {name: reason for reason, names in reasons.items() for name in names}


NOT_ONE_MERCHANTS = _name({
    "a loop goes over all merchants, and what it takes bears its merchant": (
        "adapters.payments.sandbox.store._TAKE_NOTICES", "escalation.contact_store._FIND_MERCHANTS",
        "escalation.due_claim_store._FIND_MERCHANTS", "events.store_deliveries._FIND_DUE",
        "events.store_deliveries._RECORD", "events.store_spans._SAVE", "files.store._FIND_UNUSED",
        "disputes.store_overdue._FIND_MERCHANTS",
        "messages.ledger_store._FIND_MERCHANTS", "notices.store._EMPTY", "notices.store._LEASE",
        "notices.store_occasions._EMPTY", "notices.store_occasions._FIND_DUE",
        "payments.store_requests._FIND_MERCHANTS",
    ),
    "a sweep removes what is old of all merchants": (
        "landing.reaching.store._SWEEP", "landing.session.store._REMOVE_SESSIONS",
        "landing.session.store_drafts._REMOVE_OLD", "merchants.sweep._REMOVE_KEPT_ANSWERS",
        "merchants.sweep._REMOVE_QUOTAS", "merchants.sweep._REMOVE_SECRETS",
        "merchants.sweep._REMOVE_TOKENS",
    ),
    "values are sealed anew for all merchants, or counted by the key's version": (
        "events.reseal_endpoints._LOAD_PART", "events.reseal_endpoints._LOAD_SEALED",
        "events.reseal_endpoints._SAVE", "files.sealed_uploads._COUNT",
        "keys.standing._COUNT_DIGESTS[check codes]",
        "keys.standing._COUNT_DIGESTS[ledger seals]", "keys.standing._COUNT_DIGESTS[letter codes]",
        "keys.standing._COUNT_DIGESTS[messages]", "keys.standing._COUNT_DIGESTS[notices]",
        "keys.standing._COUNT_DIGESTS[suppressions]", "messages.letters.reseal_letters._COUNT",
        "messages.letters.reseal_letters._LOAD_PART", "messages.letters.reseal_letters._SAVE",
    ),
    "the merchant is what it finds: by a token, a link, a code, a key": (
        "landing.entering.store_ways._FIND_CHECKED",
        "landing.entering.store_ways._FIND_CODE", "landing.entering.store_ways._FIND_LINK",
        "landing.entering.store_ways._FIND_REFERENCES", "landing.session.store._FIND_SESSION",
        "landing.session.store._FIND_SESSIONS",
        "merchants.find_merchants._FIND", "merchants.lookup._FIND_ACCESSES",
        "merchants.lookup._FIND_CREDENTIAL", "merchants.lookup._FIND_ISSUER",
        "merchants.lookup._FIND_LIVE_CREDENTIAL", "merchants.lookup._FIND_MERCHANT_BY_KEY",
        "merchants.store._LOAD_MERCHANTS_PAGE", "merchants.store_changes._INSERT_MERCHANT",
    ),
    "it belongs to the installation, or to a visitor of whom nothing is known": (
        "installation.audit._INSERT", "installation.audit_entries._LOAD",
        "explanation.life_store._LOAD_NAMES", "installation.store._LIST_FORWARDERS", "installation.store._LOAD",
        "installation.store._NOTE_FORWARDERS", "installation.store._SAVE",
        "keys.installation_seals_store._COUNT_UNSEALED",
        "keys.installation_seals_store._LOAD_HEAD", "keys.installation_seals_store._LOAD_SEALED",
        "keys.installation_seals_store._LOAD_SEALS", "keys.installation_seals_store._LOAD_UNSEALED",
        "keys.installation_seals_store._SAVE_SEAL",
        "keys.standing._COUNT_DIGESTS[installation seals]", "keys.standing._LOCK",
        "keys.standing._RETIRE", "kit.attempts._LOAD",
        "kit.attempts._REMOVE", "kit.attempts._SAVE", "kit.key_versions._LOAD",
        "kit.key_versions._RECORD", "landing.entering.store_asked_links._FIND",
        "landing.entering.store_asked_links._SAVE", "landing.entering.store_asked_links._TAKE",
        "landing.entering.store_tries._COUNT_EVERYBODYS",
        "landing.entering.store_tries._LOAD_VISITORS",
        "landing.entering.store_tries._REMOVE_EVERYBODYS",
        "landing.entering.store_tries._REMOVE_VISITORS",
        "landing.entering.store_tries._SAVE_VISITORS",
        "notices.store._LOAD_ASKED_TO_ONE",
    ),
    "it reads and writes no table of ours": (
        "api.readiness._LOOK", "api.readiness._WRITE",
        "intake.claim_ids._DRAW", "keys.installation_seals_store._TAKE_TURN",
        "kit.attempts._TAKE_TURN",
        "kit.migrate._SET_TIMEOUT", "kit.migrate._TAKE_TURN",
        "landing.entering.store_tries._TAKE_EVERYBODYS_TURN",
        "landing.entering.store_tries._TAKE_TURN", "merchants.kept_answers._TRY_LOCK",
        "notices.store._TAKE_TURN",
    ),
    "epochs and restores are the whole database's": (
        "kit.epochs._ADOPT", "kit.epochs._BEGIN", "kit.epochs._COMPARE",
        "kit.epochs._FIND_HIGHEST", "kit.epochs._LIST_ORDERED", "kit.epochs._LIST_SEQUENCES",
        "kit.epochs._LOAD_STANDING", "kit.epochs._MOVE_BY_ID", "kit.epochs._MOVE_BY_MARK",
        "kit.epochs._SERVER", "kit.epochs._SET_SEQUENCE", "recovery.back_up._STANDING",
        "recovery.dump._COUNT_TABLES", "recovery.dump._NOTE", "recovery.hold._FIND_CONCERNED",
        "recovery.archive_health._LOG", "recovery.hold._LOAD", "recovery.hold._RESUME",
        "recovery.hold.NOTE", "recovery.keep_archive._COMMIT", "recovery.keep_archive._NOW",
        "recovery.keep_archive._SEGMENT", "recovery.keep_archive._SERVER",
        "recovery.point_in_time.NOTE",
    ),
    "a user is the installation's, and what they are at merchants is found by the user": (
        "kit.attempts._GIVE_BACK", "people.reseal_factors._LOAD_PART",
        "people.reseal_factors._LOAD_SEALED", "people.reseal_factors._SAVE", "people.store._END",
        "people.store._FIND", "people.store._FIND_HASH", "people.store._HAS_JOINED",
        "people.store._INSERT", "people.store._INSERT_MEMBERSHIPS", "people.store._LIST",
        "people.store._LIST_MERCHANTS", "people.store._LOAD", "people.store._LOAD_HASH",
        "people.store._LOCK", "people.store._LOCK_ADMINS", "people.store._READ",
        "people.store._REMOVE_HASH", "people.store._REMOVE_MEMBERSHIPS", "people.store._SAVE_HASH",
        "people.store._SAVE_JOINED", "people.store._SAVE_PLACE", "people.store._SAVE_PROFILE",
        "people.store._SAVE_REHASHED", "people.store_entries._FIND_ENTRY",
        "people.store_entries._FIND_INVITATION", "people.store_entries._INSERT_ENTRY",
        "people.store_entries._INSERT_INVITATION", "people.store_entries._REMOVE_ENTRIES",
        "people.store_entries._REMOVE_ENTRIES_OF", "people.store_entries._REMOVE_INVITATIONS",
        "people.store_entries._TAKE_ENTRY", "people.store_entries._TAKE_INVITATION",
        "people.store_factors._CONFIRM_APP", "people.store_factors._COUNT_CODES",
        "people.store_factors._FIND_APP", "people.store_factors._FIND_PASSKEY",
        "people.store_factors._INSERT_APP", "people.store_factors._INSERT_CHALLENGE",
        "people.store_factors._INSERT_CODES", "people.store_factors._INSERT_PASSKEY",
        "people.store_factors._LOAD", "people.store_factors._LOAD_CODES",
        "people.store_factors._REMOVE", "people.store_factors._REMOVE_ALL",
        "people.store_factors._REMOVE_APP", "people.store_factors._REMOVE_CHALLENGES",
        "people.store_factors._REMOVE_CODES", "people.store_factors._TAKE_CHALLENGE",
        "people.store_factors._TAKE_CODE", "people.store_factors._TAKE_COUNT",
        "people.store_factors._TAKE_STEP", "people.store_sessions._END",
        "people.store_sessions._END_ALL", "people.store_sessions._END_BY_HASH",
        "people.store_sessions._FIND_CODES", "people.store_sessions._LOAD",
        "people.store_sessions._REMOVE", "people.store_sessions._SAVE",
        "people.store_sessions._SHOW_CODES", "people.store_sessions._TAKE",
    ),
    "its callers put the condition behind it": (
        "messages.communication_store._READ", "messages.suppression._FIND",
    ),
})  # fmt: skip

QUIET = _name({
    "a part of a statement, tried whole by tests.api.test_api_isolation": (
        "claims.store_lists._LOAD", "disputes.store_lists._LOAD", "events.store._LOAD",
        "events.store._LOAD_TIMED",
        "files.store_attachments._RELEASED", "landing.reaching.store.LOAD_KNOWN",
        "landing.claim.others._BY_EMAIL", "landing.claim.others._BY_NUMBER",
        "landing.objecting.store._LOAD_UNSENT", "messages.suppression.LOAD_KNOWN",
        "rollout.running_store._LOAD_OPEN",
    ),
    "a part of a statement, tried whole by tests.usecases.test_audit": (
        "merchants.find_audit._LOAD",
    ),
    "takes records or places that no row holds; tried with two merchants by its use case": (
        "assignment.store._SAVE_DRAFT", "escalation.gate_store._HAND_OVER",
        "escalation.settlement_store._MARK_FAILED", "events.store_spans._FIND",
        "intake.create_claims._CREATE", "merchants.store._ROTATE",
        "messages.guard_store._GIVE_BACK", "messages.guard_store._LOAD_RAISED",
        "notices.store_occasions._SAVE_MANY",
        "payments.store._LOAD_SURPLUS", "sandbox.store._COUNT", "sandbox.store._MOVE",
        "workflows.store_history._LOAD_KNOWN_STEPS",
    ),
    "finds what contradicts: tests.usecases.test_verify_ledger": (
        "messages.contact_check_store._CONTENTS", "messages.contact_check_store._OTHER_DIGESTS",
        "messages.contact_check_store._TWICE", "messages.contact_check_store._WITHOUT_CONTACT",
    ),
    "acts on a state that none of these rows is in": (
        "escalation.claim_contact_store._WAKE", "landing.session.store._END",
        "merchants.store_revocations._END_ROTATED", "modalities.rest_after_break._END_HOLDS",
        "payments.store_requests._OPEN",
    ),
})  # fmt: skip
