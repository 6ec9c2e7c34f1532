"""Replace ways of Strawberry and graphql-core: why, and until when, is in docs/decisions/0022."""
