"""Rules of sign-in: accounts, sessions, credentials, secrets; pure, as the rules in `core` are."""
