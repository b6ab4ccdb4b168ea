"""The commands that show the audit log, and verify that ledger and audit log have not been
changed."""
