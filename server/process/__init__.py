"""The life of the process: signals, threads, phases, its log, and its end."""
