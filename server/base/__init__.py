"""What all parts of the server share: who asks, its version, what it refuses."""
