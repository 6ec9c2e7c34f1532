/** Which firings want somebody: those that nobody has acknowledged, and whose cause is still there. */
export const UNSEEN_FIRINGS = { isOpen: { eq: true }, acknowledgedAt: { isNull: true } };
