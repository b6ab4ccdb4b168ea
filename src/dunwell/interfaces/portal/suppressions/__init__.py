"""Addresses that are not written to: the list, adding one, lifting one."""
