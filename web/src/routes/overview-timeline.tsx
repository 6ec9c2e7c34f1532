import { useEffect, useRef } from "preact/hooks";
import { UnknownValue } from "../components/filters";
import { LivePart } from "../components/live-part";
import { Section } from "../components/section";
import { Timeline } from "../components/timeline";
import { ExecutionRowFragment, type ExecutionRow } from "../graphql/fragments";
import { graphql, type ResultOf } from "../graphql/tada";
import { serverNow } from "../live/clock";
import { useLive } from "../live/use-live";
import { gather, type Gathered, nextCursor, type Pages, useRest } from "../live/use-rest";
import { apartFor, type Planned, reduceTimeline } from "../model/timeline";
import { searchParams, setParams } from "../state/route";

const PAGE = 200;
/** Pages of executions that are drawn at most; older ones are left out, and the title says so. */
const PAGES = 5;
const HOURS = { "1h": 1, "6h": 6, "24h": 24 } as const;
type Hours = keyof typeof HOURS;

const PastDocument = graphql(
  `
  query TimelinePast($from: DateTime!, $after: String) {
    asOf
    executions(first: 200, after: $after, filter: { startedAt: { gte: $from } }, orderBy: [{ field: ID, direction: DESC }]) {
      nodes { ...ExecutionRow }
      pageInfo { hasNextPage endCursor }
    }
  }
`,
  [ExecutionRowFragment],
);

const FutureDocument = graphql(`
  query TimelineFuture($to: DateTime!, $apart: Float!, $after: String) {
    asOf
    upcoming(to: $to, apart: $apart, first: 200, after: $after) {
      nodes { effectiveAt task { name } }
      pageInfo { hasNextPage endCursor }
    }
    tasks(first: 0, filter: { enabled: { eq: true }, pausedAt: { isNull: true }, nextExecution: { lt: $to } }) { totalCount }
  }
`);

interface Past extends Pages {
  readonly executions: readonly ExecutionRow[];
}

function readHours(): Hours {
  const value = searchParams.value.get("range");
  return value === "6h" || value === "24h" ? value : "1h";
}

/** Reads page after page, until the span is filled or enough is drawn. */
function usePast(hours: number) {
  const from = (): string => new Date(serverNow() - hours * 3_600_000).toISOString();
  const past = useLive(`timeline/${hours}`, {
    document: PastDocument,
    variables: () => ({ from: from(), after: null }),
    parts: ["executions"],
    init: ({ executions }): Past => ({ executions: executions.nodes, next: nextCursor(executions.pageInfo), pages: 1 }),
    reduce: (state, event) => {
      const executions = reduceTimeline(state.executions, event);
      return executions === state.executions ? state : { ...state, executions };
    },
  });
  useRest(past, {
    document: PastDocument,
    most: PAGES,
    variables: (state) => ({ from: from(), after: state.next }),
    append: ({ executions }, before): Past => ({ executions: [...before.executions, ...executions.nodes], next: nextCursor(executions.pageInfo), pages: before.pages + 1 }),
  });
  return past;
}

type FuturePage = ResultOf<typeof FutureDocument>["upcoming"];

function plannedOf(page: FuturePage): readonly Planned[] {
  return page.nodes.map(({ effectiveAt, task }) => ({ taskName: task.name, at: Date.parse(effectiveAt) }));
}

interface Future extends Gathered<Planned> {
  /** The end of the hour, the same for all its pages. */
  readonly to: string;
  /** Seconds between two occurrences of a task, as they were asked for, and as so many tasks need it. */
  readonly apart: number;
  readonly wanted: number;
}

const HOUR = 3_600;

interface Plan {
  readonly planned: readonly Planned[];
  readonly until: number | null;
  /** Milliseconds between two occurrences of a task. */
  readonly apart: number;
}

/** The plan of the next hour, page after page like the past, to its end: the more tasks are due, the fewer occurrences of each. */
function usePlanned(): Plan {
  const to = (): string => new Date(serverNow() + HOUR * 1000).toISOString();
  const apart = useRef(apartFor(1, HOUR));
  const future = useLive("timeline/future", {
    document: FutureDocument,
    variables: () => ({ to: to(), apart: apart.current, after: null }),
    init: ({ upcoming, tasks }, before: Future | null): Future => {
      const wanted = apartFor(tasks.totalCount, HOUR);
      return { ...gather(before, plannedOf(upcoming), nextCursor(upcoming.pageInfo), 1, PAGES), to: to(), apart: apart.current, wanted };
    },
    outdates: (event) => event.kind.startsWith("TASK_") || event.kind === "RUN_CREATED",
    every: 30_000,
  });
  const { apart: asked, wanted, next: more } = future.state ?? { apart: 0, wanted: 0, next: null };
  useEffect(() => {
    apart.current = wanted === 0 ? apart.current : wanted;
    if (more !== null && wanted > asked) future.reload();
  }, [asked, wanted, more]);
  useRest(future, {
    document: FutureDocument,
    most: PAGES,
    variables: (state) => ({ to: state.to, apart: state.apart, after: state.next }),
    append: ({ upcoming }, before): Future => ({ ...before, ...gather(before, [...before.read, ...plannedOf(upcoming)], nextCursor(upcoming.pageInfo), before.pages + 1, PAGES) }),
  });
  if (future.state === null) return { planned: [], until: null, apart: 0 };
  const { shown: planned, next } = future.state;
  return { planned, until: next === null ? null : (planned.at(-1)?.at ?? null), apart: asked * 1000 };
}

/** The timeline of the overview, with its span in the address. */
export function OverviewTimeline() {
  const range = readHours();
  const past = usePast(HOURS[range]);
  const { planned, until, apart } = usePlanned();
  return (
    <Section
      title="Timeline"
      aside={
        <>
          <UnknownValue name="range" label="Span" known={Object.keys(HOURS)} />
          <span class="segments" role="group" aria-label="Span of the timeline">
            {(Object.keys(HOURS) as Hours[]).map((each) => (
              <button key={each} type="button" class="segment" aria-pressed={each === range} onClick={() => setParams({ range: each === "1h" ? null : each }, { replace: true })}>
                {each.replace("h", " h")}
              </button>
            ))}
          </span>
        </>
      }
    >
      <LivePart live={past} rows={5}>
        {({ executions, next }) => (
          <Timeline executions={executions} planned={planned} plannedUntil={until} apart={apart} hours={HOURS[range]} cut={next !== null && executions.length >= PAGE * PAGES} />
        )}
      </LivePart>
    </Section>
  );
}
