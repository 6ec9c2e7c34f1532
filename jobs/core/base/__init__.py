"""What all rules share: errors and their codes, wording, levels, and modules that are loaded when they are needed."""
