"""What comes by WebSocket: the protocol, and the operations of one socket."""
