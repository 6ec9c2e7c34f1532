/** Which runs wait for people: those that are suspended until somebody sends them a signal. */
export const WAITING_FOR_PEOPLE = { state: { eq: "SUSPENDED" as const }, isWaitingForSignal: { eq: true } };
