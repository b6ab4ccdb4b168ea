"""What is stored about mandates and debits at payment providers."""
