"""Requests, guards of handlers, error pages and assets that all debtor pages share."""
