"""The object types of the GraphQL schema."""
