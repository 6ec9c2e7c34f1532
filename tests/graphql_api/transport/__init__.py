"""Tests of the GraphQL front door, on a small schema of their own."""
