/** The pages of the menu: those of the palette too. */
import type { Page } from "../lib/paths";
import type { IconName } from "../lib/status";

interface NavEntry {
  readonly href: string;
  readonly label: string;
  readonly icon: IconName;
  readonly pages: readonly Page["name"][];
}

export const NAV: readonly NavEntry[] = [
  { href: "/", label: "Overview", icon: "home", pages: ["overview"] },
  { href: "/tasks", label: "Tasks", icon: "tasks", pages: ["tasks", "task", "schedule"] },
  { href: "/jobs", label: "Jobs", icon: "jobs", pages: ["jobs", "job"] },
  { href: "/runs", label: "Runs", icon: "runs", pages: ["runs", "run"] },
  { href: "/flows", label: "Flows", icon: "flows", pages: ["flows", "flow"] },
  { href: "/inbox", label: "Inbox", icon: "inbox", pages: ["inbox"] },
  { href: "/alarms", label: "Alarms", icon: "bell", pages: ["alarms", "deliveries"] },
  { href: "/log", label: "Log", icon: "log", pages: ["log", "execution", "lines", "errors", "error"] },
  { href: "/groups", label: "Groups", icon: "groups", pages: ["groups"] },
  { href: "/nodes", label: "Nodes", icon: "nodes", pages: ["nodes"] },
  { href: "/webhooks", label: "Webhooks", icon: "leave", pages: ["webhooks"] },
  { href: "/hooks", label: "Hooks", icon: "link", pages: ["hooks"] },
  { href: "/secrets", label: "Secrets", icon: "key", pages: ["secrets"] },
  { href: "/users", label: "Users", icon: "people", pages: ["users"] },
  { href: "/audit", label: "Audit", icon: "audit", pages: ["audit"] },
  { href: "/graphiql", label: "Explorer", icon: "explorer", pages: [] },
  { href: "/settings", label: "Settings", icon: "settings", pages: ["settings", "account"] },
];
