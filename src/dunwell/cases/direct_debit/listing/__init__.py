"""The lists of mandates, debits and files for staff and merchants."""
