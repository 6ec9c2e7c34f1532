"""What all rules share: errors, codes, wording, levels, rates, signatures, and modules that are loaded when needed."""
