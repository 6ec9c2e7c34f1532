"""Share errors, codes, wording, levels, rates, signatures and lazy modules among all rules."""
