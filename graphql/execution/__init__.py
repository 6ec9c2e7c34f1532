"""What takes the place of Strawberry's and graphql-core's own ways: why, and until when, in docs/decisions/0022."""
