"""PostgreSQL: connections, transactions, statements, migrations."""
