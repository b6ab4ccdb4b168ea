"""The payment provider that needs nothing outside: a checkout page that moves no money."""
