"""Messages and what limits them.

`templates`: templates and their rendering. `letters`: printing. `communications`: lists of what was
sent. `ledger`: the sealed record of contacts. `guards`: limits per person. `claim_links`: links and
codes. `suppression` and `identities`: who is not contacted, by digest. `contact`: the values of a
contact that is being sent.
"""
