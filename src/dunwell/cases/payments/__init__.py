"""Payments: recording them, sharing them among items, collecting claims."""
