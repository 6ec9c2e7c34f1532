"""Pure rules of the engine: no input, no output, no clock; every rule that needs the time takes ``now``."""
