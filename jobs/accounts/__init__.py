"""Accounts: sign-in by people and programs, the secrets of jobs, and the log of changes."""
