"""The way to a database: connections, transactions, dialects, types."""
