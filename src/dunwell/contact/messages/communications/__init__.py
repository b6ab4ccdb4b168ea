"""Communications as merchants and operators read them."""
