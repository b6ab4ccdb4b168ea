"""The sealed ledger of contacts: digests, sealing and verification."""
