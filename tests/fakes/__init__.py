"""Fake payment providers. Each is a separate process that behaves like the provider's API, its
hosted checkout page and its notifications.

`python -m tests.fakes.stripe --port 0` prints its address. Paths below `/_fake` are ours: they
decide what debtors, banks and the provider do, and switch faults on.
"""
