"""What all of the client shares: its errors, and the shapes of records and of open enums."""
