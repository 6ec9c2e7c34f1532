"""Where the pages are, one list for all who open every one of them."""

PAGES = (
    "/",
    "/tasks",
    "/tasks?new=1",
    "/runs",
    "/log",
    "/lines?job=chatty&q=line",
    "/errors",
    "/jobs",
    "/groups",
    "/nodes",
    "/settings",
    "/account",
    "/secrets",
    "/users",
    "/audit",
    "/inbox",
    "/alarms",
    "/deliveries",
    "/hooks",
    "/webhooks",
    "/schedule",
    "/schedule?view=week",
    "/schedule?view=load",
    "/flows",
)
"""All but those of one task, one run and one execution."""
