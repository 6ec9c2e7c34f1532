"""What the mutations have in common: inputs, how a change is made and its answer kept, many things at once."""
