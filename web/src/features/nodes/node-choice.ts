/** What a node was started to take. */
export interface NodeChoice {
  readonly groups: readonly string[];
  readonly onlyJobs: readonly string[];
  readonly tags: readonly string[];
  readonly withoutTags: readonly string[];
}

/** In words; nothing for a node that takes everything. */
export function choiceOf({ groups, onlyJobs, tags, withoutTags }: NodeChoice): string {
  const only = [listed("groups", groups), listed("jobs", onlyJobs), listed("tags", tags)]
    .filter((part) => part !== "")
    .join("; ");
  const without = listed("tags", withoutTags);
  return [only && `only ${only}`, without && `without ${without}`].filter((part) => part !== "").join("; ");
}

function listed(what: string, names: readonly string[]): string {
  return names.length === 0 ? "" : `${what} ${names.join(", ")}`;
}
