"""Search: the words of claims, written behind their creation, and finding by them."""
