"""Rules of sign-in: accounts, roles, credentials, secrets, the audit log."""
