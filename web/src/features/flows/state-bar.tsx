import { integer } from "../../lib/format";
import { statusView } from "../../lib/status";

/** Numbers of runs by their states. */
export type StateCounts = ReadonlyMap<string, number>;

/** The states of runs: those that are over first, as a bar fills up from the left. */
export const STATES = [
  "SUCCESS",
  "FAILED",
  "CANCELLED",
  "SKIPPED",
  "STUCK",
  "RUNNING",
  "SCHEDULED",
  "WAITING",
  "SUSPENDED",
] as const;

/** The counts of an answer of the API, of states of which there are runs. */
export function countsOf(progress: Readonly<Record<Lowercase<(typeof STATES)[number]>, number>>): StateCounts {
  return new Map(
    STATES.flatMap((state) => {
      const count = progress[state.toLowerCase() as Lowercase<typeof state>];
      return count > 0 ? [[state, count] as const] : [];
    }),
  );
}

export function inWords(counts: StateCounts): string {
  return STATES.flatMap((state) => {
    const count = counts.get(state) ?? 0;
    return count === 0 ? [] : [`${integer(count)} ${statusView(state).word}`];
  }).join(", ");
}

/** A bar that is split by state; one run among thousands is seen, too. */
export function StateBar({ counts }: { counts: StateCounts }) {
  const said = inWords(counts);
  return (
    <span class="state-bar" role="img" aria-label={said} title={said}>
      {STATES.map((state) => {
        const count = counts.get(state) ?? 0;
        return (
          count > 0 && (
            <span key={state} class={`state-part state-${state.toLowerCase()}`} style={{ flexGrow: String(count) }} />
          )
        );
      })}
    </span>
  );
}
