"""SEPA direct debits for the instalments of payment plans: mandates, collections, files for the
bank, and the bank's results."""
