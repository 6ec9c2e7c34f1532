"""Prints the JSON Schema of files of tasks: `make schema` writes it to `docs/tasks.schema.json`."""

import json
import sys

from cronograph.server.task_files.model import schema

if __name__ == "__main__":
    sys.stdout.write(json.dumps(schema(), indent=2) + "\n")
