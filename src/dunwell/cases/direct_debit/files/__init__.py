"""Files with orders for the bank: releasing collections in them, and delivering them."""
