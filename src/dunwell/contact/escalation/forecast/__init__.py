"""Forecast what a claim's workflow does if nothing is paid."""
