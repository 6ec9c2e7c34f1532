"""Acts of sign-in: accounts, sessions, tokens, devices, passkeys, providers, secrets, saved views."""
