/** Addresses of the dashboard's pages, and how they are read. */

export const paths = {
  task: (name: string): string => `/tasks/${encodeURIComponent(name)}`,
  /** Leads to its run, with this attempt chosen. */
  execution: (id: string): string => `/log/${id}`,
  job: (name: string): string => `/jobs/${encodeURIComponent(name)}`,
  /** A group of failures, of the last hours or days at first. */
  error: ({ fingerprint, jobName }: { fingerprint: string; jobName: string }, range: string): string =>
    `/errors/${fingerprint}?${new URLSearchParams({ job: jobName, range }).toString()}`,
  logOfJob: (name: string): string => `/log?job=${encodeURIComponent(name)}`,
  queueOfJob: (name: string): string => `/runs?job=${encodeURIComponent(name)}`,
  run: (id: string): string => `/runs/${id}`,
  /** A run with one of its attempts chosen. */
  attempt: (run: string, attempt: number): string => `/runs/${run}?attempt=${attempt}`,
  flow: (id: string): string => `/flows/${id}`,
  logOfRun: (id: string): string => `/log?run=${id}`,
  linesOf: (execution: string): string => `/lines?execution=${execution}`,
  /** The runs that a bulk action has made. */
  madeByBulk: (id: string): string => `/runs?label=bulk-action:${id}`,
  group: (name: string): string => `/runs?group=${encodeURIComponent(name)}`,
} as const;

const PLAIN_NAMES = [
  "overview",
  "tasks",
  "jobs",
  "runs",
  "log",
  "lines",
  "errors",
  "groups",
  "nodes",
  "settings",
  "account",
  "secrets",
  "users",
  "audit",
  "inbox",
  "alarms",
  "deliveries",
  "hooks",
  "webhooks",
  "schedule",
  "flows",
] as const;
type PlainName = (typeof PLAIN_NAMES)[number];

export type Page =
  | { readonly name: PlainName }
  | { readonly name: "task"; readonly task: string }
  | { readonly name: "job"; readonly job: string }
  | { readonly name: "error"; readonly fingerprint: string }
  | { readonly name: "execution" | "run" | "flow"; readonly id: string }
  | { readonly name: "unknown" };

/** Pages without parameters, by the first part of their address. */
const PLAIN: ReadonlyMap<string, PlainName> = new Map(
  PLAIN_NAMES.map((name) => [name === "overview" ? "" : name, name]),
);

/** Which page an address names. */
export function readPath(path: string): Page {
  const [first = "", second, ...rest] = path.replace(/^\/+|\/+$/g, "").split("/");
  if (rest.length > 0) return { name: "unknown" };
  if (second === undefined) {
    const name = PLAIN.get(first);
    return name === undefined ? { name: "unknown" } : { name };
  }
  if (first === "jobs") return { name: "job", job: decode(second) };
  if (first === "errors" && /^[0-9a-f]{16}$/.test(second)) return { name: "error", fingerprint: second };
  if (first === "tasks") return { name: "task", task: decode(second) };
  if (first === "log" && /^\d+$/.test(second)) return { name: "execution", id: second };
  if (first === "runs" && /^\d+$/.test(second)) return { name: "run", id: second };
  if (first === "flows" && /^\d+$/.test(second)) return { name: "flow", id: second };
  return { name: "unknown" };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A stray "%" typed into the address bar: the name as it stands is the best guess.
    return text;
  }
}
