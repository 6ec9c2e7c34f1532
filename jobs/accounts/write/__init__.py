"""What sign-in writes: accounts, sessions, devices, passkeys, providers, secrets, saved views, the audit log."""
