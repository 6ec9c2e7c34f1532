"""What comes by HTTP: POST with an answer in JSON, and event streams."""
