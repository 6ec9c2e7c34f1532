"""What commands answer with ``--json``, as JSON Schema: `docs/cli-answers.schema.json` is made of it."""
