"""The engine, and all that a job author imports."""
