"""Payment requests: debtors' payments that are on their way through a provider or by bank
transfer.
"""
