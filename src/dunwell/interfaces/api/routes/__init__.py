"""The operations of the merchant API: for each what it promises, and the use case that keeps it."""
