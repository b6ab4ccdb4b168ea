"""The list of claims, the pages of one claim, and the forms that change it."""
