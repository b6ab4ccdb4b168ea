"""The operations of the merchant API: their descriptions, and the functions that run their use
cases."""
