"""The roots of the schema: queries, mutations, subscriptions."""
