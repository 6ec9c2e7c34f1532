"""SQL, and nothing but SQL: one named function per statement."""
