"""Payouts of payment providers: recorded, found on bank statements, and explained."""
