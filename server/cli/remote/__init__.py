"""The commands that speak to a running server, one module each."""
