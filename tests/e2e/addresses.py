"""Where the pages are, one list for all who open every one of them."""

PAGES = (
    "/",
    "/tasks",
    "/tasks?new=1",
    "/runs",
    "/log",
    "/jobs",
    "/groups",
    "/nodes",
    "/settings",
    "/account",
    "/secrets",
    "/users",
    "/audit",
    "/inbox",
)
"""All but those of one task, one run and one execution."""
