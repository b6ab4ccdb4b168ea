"""The sandbox merchant's clock: it stands until it is moved, and the process runs along with it."""
