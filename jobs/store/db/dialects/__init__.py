"""SQLAlchemy dialects whose engines share the statements that they have compiled."""
