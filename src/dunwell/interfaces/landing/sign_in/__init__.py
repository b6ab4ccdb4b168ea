"""How a debtor opens a claim: links, letter codes, data on file that the debtor enters, and codes
that are sent.
"""
