"""Communications as merchants and operators see them."""
