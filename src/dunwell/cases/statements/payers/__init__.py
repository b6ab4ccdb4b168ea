"""The accounts from which claims were paid."""
