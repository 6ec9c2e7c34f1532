import { useEffect, useRef } from "preact/hooks";
import { graphql, type ResultOf } from "../../api/tada";
import { serverNow } from "../../live/clock";
import { useLive } from "../../live/use-live";
import { type Gathered, gather, nextCursor, useRest } from "../../live/use-rest";
import { UnknownValue } from "../../parts/filters";
import { searchParams, setParams } from "../../state/route";
import { LivePart } from "../../ui/live-part";
import { Section } from "../../ui/section";
import { Timeline } from "./chart";
import { apartFor, type Planned, type ServerRow } from "./model";
import { aheadOfHours, type Chosen, paramsOf, RANGES, type Range, readChosen, windowAt } from "./window";

/** Pages of the plan that are drawn at most. */
const PAGES = 5;
/** Rows at most; what needs a person comes first. */
const ROWS = 80;
const SECOND = 1_000;
const DAY = 86_400 * SECOND;

const PastDocument = graphql(`
  query TimelinePast($from: DateTime!, $to: DateTime, $taskName: String, $first: Int!) {
    asOf
    timeline(from: $from, to: $to, taskName: $taskName, first: $first) {
      beginsAt
      totalRows
      rows {
        taskName
        jobName
        group
        isFailing
        isLate
        executions
        failures
        bars { begins ends counts failures ids }
        skips { first last reasons counts runIds }
      }
    }
  }
`);

const FutureDocument = graphql(`
  query TimelineFuture($to: DateTime!, $apart: Duration!, $after: String, $filter: TaskFilter, $due: TaskFilter) {
    asOf
    upcoming(to: $to, apart: $apart, first: 200, after: $after, filter: $filter) {
      nodes { effectiveAt task { name group } }
      pageInfo { hasNextPage endCursor }
    }
    tasks(first: 0, filter: $due) { totalCount }
  }
`);

interface Past {
  readonly rows: readonly ServerRow[];
  readonly since: string | null;
  readonly totalRows: number;
}

function keyOf(chosen: Chosen): string {
  return chosen.kind === "last" ? chosen.range : `${chosen.from}-${chosen.to}`;
}

/**
 * What ran and was skipped, small for any span; asked again when something began or ended, less often for long spans.
 */
function usePast(chosen: Chosen, taskName: string | null) {
  const { from, to } = windowAt(chosen, serverNow());
  const length = to - from;
  return useLive(`timeline/${taskName ?? ""}/${keyOf(chosen)}`, {
    document: PastDocument,
    variables: () => {
      const at = windowAt(chosen, serverNow());
      return {
        from: new Date(at.from).toISOString(),
        to: chosen.kind === "fixed" ? new Date(at.to).toISOString() : null,
        taskName,
        first: ROWS,
      };
    },
    init: ({ timeline }): Past => ({
      rows: timeline.rows,
      since: timeline.beginsAt,
      totalRows: timeline.totalRows,
    }),
    outdates: (event) =>
      (taskName === null || event.taskName === taskName) &&
      (event.kind.startsWith("EXECUTION_") || event.kind.startsWith("TASK_") || event.kind === "OCCURRENCE_SKIPPED"),
    every: length <= DAY / 8 ? 2 * SECOND : length <= 2 * DAY ? 10 * SECOND : 60 * SECOND,
  });
}

type FuturePage = ResultOf<typeof FutureDocument>["upcoming"];

function plannedOf(page: FuturePage): readonly Planned[] {
  return page.nodes.map(({ effectiveAt, task }) => ({
    taskName: task.name,
    group: task.group,
    at: Date.parse(effectiveAt),
  }));
}

interface Future extends Gathered<Planned> {
  /** The end of the plan, the same for all its pages. */
  readonly to: string;
  /** Seconds between two occurrences of a task, as they were asked for, and as so many tasks need it. */
  readonly apart: number;
  readonly wanted: number;
}

interface Plan {
  readonly planned: readonly Planned[];
  readonly until: number | null;
  /** Milliseconds between two occurrences of a task. */
  readonly apart: number;
}

/** The plan to the end of the window, page after page: the more tasks are due, the fewer occurrences of each. */
function usePlanned(chosen: Chosen, taskName: string | null): Plan {
  const end = (): number => windowAt(chosen, serverNow()).to;
  const span = Math.max(
    60,
    chosen.kind === "last" ? aheadOfHours(RANGES[chosen.range]) / SECOND : (chosen.to - serverNow()) / SECOND,
  );
  const filter = taskName === null ? null : { name: { eq: taskName } };
  const apart = useRef(apartFor(1, span));
  const asked = (to: string, after: string | null) => ({
    to,
    apart: apart.current,
    after,
    filter,
    due: { isEnabled: { eq: true }, pausedAt: { isNull: true }, nextExecutionAt: { lt: to }, ...filter },
  });
  const to = (): string => new Date(Math.max(end(), serverNow())).toISOString();
  const future = useLive(`timeline/future/${taskName ?? ""}/${keyOf(chosen)}`, {
    document: FutureDocument,
    variables: () => asked(to(), null),
    init: ({ upcoming, tasks }, before: Future | null): Future => {
      const wanted = apartFor(tasks.totalCount, span);
      return {
        ...gather(before, plannedOf(upcoming), nextCursor(upcoming.pageInfo), 1, PAGES),
        to: to(),
        apart: apart.current,
        wanted,
      };
    },
    outdates: (event) => event.kind.startsWith("TASK_") || event.kind === "RUN_CREATED",
    every: 30 * SECOND,
  });
  const { apart: used, wanted, next: more } = future.state ?? { apart: 0, wanted: 0, next: null };
  useEffect(() => {
    apart.current = wanted === 0 ? apart.current : wanted;
    if (more !== null && wanted > used) future.reload();
  }, [used, wanted, more]);
  useRest(future, {
    document: FutureDocument,
    most: PAGES,
    variables: (state) => asked(state.to, state.next),
    append: ({ upcoming }, before): Future => ({
      ...before,
      ...gather(
        before,
        [...before.read, ...plannedOf(upcoming)],
        nextCursor(upcoming.pageInfo),
        before.pages + 1,
        PAGES,
      ),
    }),
  });
  if (future.state === null) return { planned: [], until: null, apart: 0 };
  const { shown: planned, next } = future.state;
  return { planned, until: next === null ? null : (planned.at(-1)?.at ?? null), apart: used * SECOND };
}

/** The timeline of all tasks or of one, with its window in the address. */
export function TimelinePart({ taskName = null }: { taskName?: string | null }) {
  const chosen = readChosen(searchParams.value);
  const past = usePast(chosen, taskName);
  const plan = usePlanned(chosen, taskName);
  return (
    <Section title="Timeline" aside={<Windows chosen={chosen} />}>
      <LivePart live={past} rows={taskName === null ? 5 : 2}>
        {(state) => <Timeline {...state} {...plan} chosen={chosen} taskName={taskName} />}
      </LivePart>
    </Section>
  );
}

/** Lengths of the window, and its moves for those who do not brush. */
function Windows({ chosen }: { chosen: Chosen }) {
  const { from, to } = windowAt(chosen, serverNow());
  const move = (share: number) => (): void =>
    setParams(paramsOf(from + (to - from) * share, to + (to - from) * share), { replace: true });
  const zoom = (factor: number) => (): void =>
    setParams(paramsOf(middle - half * factor, middle + half * factor), { replace: true });
  const [middle, half] = [(from + to) / 2, (to - from) / 2];
  return (
    <>
      <UnknownValue name="range" label="Span" known={Object.keys(RANGES)} />
      <span class="segments" role="group" aria-label="Move the timeline">
        <button type="button" class="segment" aria-label="Earlier" title="Earlier" onClick={move(-0.5)}>
          ‹
        </button>
        <button type="button" class="segment" aria-label="Zoom out" title="Zoom out" onClick={zoom(2)}>
          −
        </button>
        <button
          type="button"
          class="segment"
          aria-label="Zoom in"
          title="Zoom in; or draw a span in the picture"
          onClick={zoom(0.5)}
        >
          +
        </button>
        <button type="button" class="segment" aria-label="Later" title="Later" onClick={move(0.5)}>
          ›
        </button>
      </span>
      <span class="segments" role="group" aria-label="Span of the timeline">
        {(Object.keys(RANGES) as Range[]).map((each) => (
          <button
            key={each}
            type="button"
            class="segment"
            aria-pressed={chosen.kind === "last" && each === chosen.range}
            onClick={() => setParams({ range: each === "1h" ? null : each, from: null, to: null }, { replace: true })}
          >
            {each.replace(/([hd])/, " $1")}
          </button>
        ))}
      </span>
    </>
  );
}
