"""What ``make schema`` writes from the schema: documents and the typed client."""
