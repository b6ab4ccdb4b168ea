-- A user can hold back a debit.
ALTER TABLE debit_collections
    DROP CONSTRAINT debit_collections_cancel_reason_check,
    ADD CONSTRAINT debit_collections_cancel_reason_check
        CHECK (cancel_reason IN ('MANDATE_ENDED', 'PLAN_ENDED', 'PAID', 'NOT_NOTIFIED',
            'NOT_RELEASED', 'DISPUTED', 'HELD_BACK')) NOT VALID;
