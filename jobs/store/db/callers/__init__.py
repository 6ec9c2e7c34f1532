"""The transaction of a caller that enqueues within it: its connection, and what its rollbacks take back."""
