"""Payment requests: a debtor's payment on its way through a provider or by bank transfer."""
