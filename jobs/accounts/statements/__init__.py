"""Read and write for sign-in: accounts, sessions, devices, passkeys, providers, secrets, views, the audit log."""
