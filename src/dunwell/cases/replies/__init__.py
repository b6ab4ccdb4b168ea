"""What debtors answer to our e-mails: kept with the claim, and looked at by a person."""
