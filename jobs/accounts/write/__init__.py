"""What sign-in writes: accounts, sessions, devices, passkeys, providers, secrets, the audit log."""
