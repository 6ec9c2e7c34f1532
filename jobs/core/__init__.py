"""The rules: pure functions and values, no I/O and no clock; every rule takes `now`."""
