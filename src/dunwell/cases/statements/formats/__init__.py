"""Readers of the files that banks send: camt.053, camt.054 and camt.052, MT940, CSV with a saved
mapping, pain.002, and ZIP archives of these. All modules are pure: bytes in, values out.

`bank_file` is the entrance. `statement` has the values, and `amounts` reads money exactly.
`entry_keys`, `invariants` and `merge_details` have the rules that hold for every format.
"""
