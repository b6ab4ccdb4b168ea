"""Lists of a merchant's claims: filters, orders and pages."""
