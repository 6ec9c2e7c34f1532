"""What labels cost: a labelled list and count over a large log, and what a label adds to storing a run, by turns.

Run it from the repository's root: ``python -m tests.bench.bench_labels``; ``--help`` lists the options. It judges
nothing. A read is that of a resolver, with the look at how many runs have the label.
"""
