"""The messages of all claims, unread replies, and messages whose delivery status is unknown."""
