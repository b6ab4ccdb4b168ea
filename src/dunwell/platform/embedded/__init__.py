"""The PostgreSQL server that ships with Dunwell, and the lock on its data folder."""
