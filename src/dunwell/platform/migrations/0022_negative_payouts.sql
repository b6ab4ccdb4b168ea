-- A provider can take money back: such a payout has a negative amount.
ALTER TABLE provider_payouts
    DROP CONSTRAINT provider_payouts_amount_cents_check,
    ADD CONSTRAINT provider_payouts_amount CHECK (amount_cents <> 0) NOT VALID;
