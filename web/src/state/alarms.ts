import { signal } from "@preact/signals";

/** Which firings want somebody: those that nobody has acknowledged, and whose cause is still there. */
export const UNSEEN_FIRINGS = { isOpen: { eq: true }, acknowledgedAt: { isNull: true } };

/** Counts what one has changed of alarms here: acknowledgements and silences are no events. */
export const alarmChanges = signal(0);
