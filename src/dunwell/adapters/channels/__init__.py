"""Adapters of the channel port: how messages leave the house."""
