"""Read for sign-in: accounts, sessions, devices, passkeys, providers, secrets, saved views, the audit log."""
