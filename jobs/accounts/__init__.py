"""Accounts: who may come in and by what, the secrets of jobs, and the log of who changed what."""
