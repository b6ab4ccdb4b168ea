"""Book the payments of many claims at once."""
