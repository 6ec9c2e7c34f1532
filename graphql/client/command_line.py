"""The documents that the commands of ``cronograph`` send. Servers that run listed documents only run these too."""

from typing import Final

APPLY_TASKS: Final = """mutation ApplyTasks($input: ApplyTasksInput!) {
  applyTasks(input: $input) {
    planned { name setName action version changes { field before after } }
    errors { code message path }
  }
}"""
EXPORTED_TASKS: Final = """query ExportedTasks($first: Int, $after: String, $filter: TaskFilter) {
  tasks(first: $first, after: $after, filter: $filter, orderBy: [{ field: NAME }]) {
    nodes { name source setName definition }
    pageInfo { hasNextPage endCursor }
  }
}"""

DOCUMENTS: Final = (APPLY_TASKS, EXPORTED_TASKS)
"""All of them."""
