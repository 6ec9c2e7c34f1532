"""Connect the client with a server: HTTP, event streams, credentials and signing in."""
