/** Which firings and messages belong where. Pure. */

interface Delivery {
  readonly payload: unknown;
  readonly state: string;
  readonly nextAttemptAt: string | null;
  readonly error: string | null;
}

/** What a message is about: the alarms in it, by their names. */
export function alarmsIn({ payload }: Pick<Delivery, "payload">): readonly string[] {
  const data = (payload as { readonly data?: { readonly alarms?: readonly { readonly alarm?: unknown }[] } } | null)
    ?.data;
  return data?.alarms?.flatMap(({ alarm }) => (typeof alarm === "string" ? [alarm] : [])) ?? [];
}

/** Milliseconds after which a message is looked at again that is being sent. */
const SENDS_WITHIN = 500;

/**
 * When the answer to the next try of some messages is looked for; null when none is tried again. A message that no
 * try has failed of is being sent right now.
 */
export function nextLook(deliveries: readonly Omit<Delivery, "payload">[], now: number): number | null {
  const pending = deliveries.filter(({ state }) => state === "PENDING");
  if (pending.length === 0) return null;
  const tries = pending.map(({ nextAttemptAt, error }) =>
    error === null || nextAttemptAt === null ? now : Date.parse(nextAttemptAt),
  );
  return Math.max(Math.min(...tries), now) + SENDS_WITHIN;
}

/** What of a filter of the API names any of some things. */
export function aboutAny<Kind extends string>(things: readonly { readonly kind: Kind; readonly name: string }[]) {
  return { or: things.map(({ kind, name }) => ({ subjectKind: { eq: kind }, subject: { eq: name } })) };
}
