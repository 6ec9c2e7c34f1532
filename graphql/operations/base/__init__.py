"""Share between the mutations: inputs, how a change is made and its answer kept, many things at once."""
