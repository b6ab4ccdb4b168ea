"""The suppression list: addresses that are not contacted, adding and removing them."""
