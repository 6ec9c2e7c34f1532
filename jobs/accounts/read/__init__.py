"""What is read for sign-in: accounts, sessions, devices, passkeys, providers, secrets, the audit log."""
