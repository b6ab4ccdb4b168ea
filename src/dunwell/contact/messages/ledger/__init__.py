"""The sealed ledger of contacts: its digests, sealing and verification."""
