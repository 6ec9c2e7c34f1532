/** Which firings and messages belong where. Pure. */

interface Delivery {
  readonly payload: unknown;
}

/** What a message is about: the alarms in it, by their names. */
export function alarmsIn({ payload }: Delivery): readonly string[] {
  const data = (payload as { readonly data?: { readonly alarms?: readonly { readonly alarm?: unknown }[] } } | null)
    ?.data;
  return data?.alarms?.flatMap(({ alarm }) => (typeof alarm === "string" ? [alarm] : [])) ?? [];
}

/** How many results of a subscription are in a message to a webhook. */
export function resultsIn({ payload }: Delivery): number {
  return (payload as { readonly data?: { readonly events?: readonly unknown[] } } | null)?.data?.events?.length ?? 0;
}

/** Whether an event tells of messages that were recorded, tried or given up. */
export function tellsOfMessages({ kind }: { readonly kind: string }): boolean {
  return kind === "DELIVERIES_UPDATED";
}

/** What of a filter of the API names any of some things. */
export function aboutAny<Kind extends string>(things: readonly { readonly kind: Kind; readonly name: string }[]) {
  return { or: things.map(({ kind, name }) => ({ subjectKind: { eq: kind }, subject: { eq: name } })) };
}
