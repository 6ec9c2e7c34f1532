"""How the client reaches a server: HTTP, event streams, credentials and signing in."""
