"""The stored records of mandates and debits at payment providers."""
