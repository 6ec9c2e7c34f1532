/** Silences of alarms and of groups of failures. Pure. */

/** When the next silence is over. */
export function silenceEnds(alarms: readonly { readonly silenceEndsAt: string | null }[], now: number): number | null {
  const ends = alarms
    .filter((alarm) => isSilenced(alarm, now))
    .map(({ silenceEndsAt }) => Date.parse(silenceEndsAt ?? ""));
  return ends.length === 0 ? null : Math.min(...ends);
}

/** Whether a silence holds. */
export function isSilenced({ silenceEndsAt }: { readonly silenceEndsAt: string | null }, now: number): boolean {
  return silenceEndsAt !== null && Date.parse(silenceEndsAt) > now;
}
