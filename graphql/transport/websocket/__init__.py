"""Serve WebSockets: the protocol, and the operations of one socket."""
