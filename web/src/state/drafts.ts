/** What begins the keys under which this tab keeps what is typed. */
export const DRAFTS = "cronograph.draft.";
const OWNER = "cronograph.drafts-of";

/** From now on drafts are those of this person; what somebody else has left in this tab is thrown away. */
export function draftsBelongTo(name: string): void {
  const before = sessionStorage.getItem(OWNER);
  if (before !== null && before !== name)
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(DRAFTS)) sessionStorage.removeItem(key);
  sessionStorage.setItem(OWNER, name);
}
