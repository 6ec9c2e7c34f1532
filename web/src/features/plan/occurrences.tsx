import { useState } from "preact/hooks";
import { graphql, type ResultOf } from "../../api/tada";
import { paths } from "../../lib/paths";
import { shortDay } from "../../lib/time";
import { PauseDialog } from "../../parts/dialogs";
import { pauseTasks, runTask } from "../../services/tasks";
import { zone } from "../../state/prefs";
import { Action } from "../../ui/action";
import { Icon } from "../../ui/icon";
import { Name } from "../../ui/name";
import { Time } from "../../ui/time";

export const OccurrenceFragment = graphql(`
  fragment PlannedRow on PlannedOccurrence {
    effectiveAt
    task { name group schedule { humanized timezone } }
  }
`);

export const PlanDocument = graphql(
  `
  query PlanPage($from: DateTime, $to: DateTime, $apart: Duration, $first: Int!, $after: String, $filter: TaskFilter) {
    asOf
    serverTime
    upcoming(from: $from, to: $to, apart: $apart, first: $first, after: $after, filter: $filter) {
      nodes { ...PlannedRow }
      pageInfo { hasNextPage endCursor }
    }
  }
`,
  [OccurrenceFragment],
);

type Occurrence = ResultOf<typeof PlanDocument>["upcoming"]["nodes"][number];

interface OccurrencesProps {
  rows: readonly Occurrence[];
  /** Offers to move a task to a quieter minute. */
  move?: (name: string) => void;
}

/** Planned occurrences, the earliest first, by the day. */
export function Occurrences({ rows, move }: OccurrencesProps) {
  const [pausing, setPausing] = useState<string | null>(null);
  const days = new Map<string, Occurrence[]>();
  for (const row of rows) {
    const day = shortDay(Date.parse(row.effectiveAt), zone.value);
    days.set(day, [...(days.get(day) ?? []), row]);
  }
  return (
    <>
      {[...days].map(([day, planned]) => (
        <section key={day} class="agenda-day" aria-label={day}>
          <h3>{day}</h3>
          <ul class="agenda">
            {planned.map(({ effectiveAt, task: { name, group, schedule } }) => (
              <li key={`${effectiveAt} ${name}`}>
                <Time at={effectiveAt} form="clock" />{" "}
                <span class="agenda-what">
                  <a href={paths.task(name)}>
                    <Name text={name} />
                  </a>{" "}
                  <span class="dim">
                    {schedule.humanized} <span class="zone-tag">{schedule.timezone}</span> · {group}
                  </span>
                </span>{" "}
                <span class="row-actions">
                  {move !== undefined && (
                    <Action
                      class="button small"
                      aria-label={`Move ${name} to a quieter slot`}
                      onClick={() => move(name)}
                    >
                      Move…
                    </Action>
                  )}
                  <Action
                    class="icon-button"
                    title="Run now"
                    aria-label={`Run ${name} now`}
                    onClick={() => void runTask(name)}
                  >
                    <Icon name="play" />
                  </Action>
                  <Action
                    class="icon-button"
                    title="Pause"
                    aria-label={`Pause ${name}`}
                    onClick={() => setPausing(name)}
                  >
                    <Icon name="pause" />
                  </Action>
                </span>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {pausing !== null && (
        <PauseDialog
          name={pausing}
          onClose={() => setPausing(null)}
          onPause={(reason, resumeAt) => {
            setPausing(null);
            void pauseTasks([pausing], reason, resumeAt);
          }}
        />
      )}
    </>
  );
}
