import { ErrorBox, Skeleton } from "../components/feedback";
import { Section } from "../components/section";
import { Timeline } from "../components/timeline";
import { request } from "../graphql/client";
import { ExecutionRowFragment, type ExecutionRow } from "../graphql/fragments";
import { graphql } from "../graphql/tada";
import { serverNow } from "../live/clock";
import { useLive } from "../live/use-live";
import { type Planned, reduceTimeline } from "../model/timeline";
import { searchParams, setParams } from "../state/route";
import { useEffect } from "preact/hooks";
import { notify } from "../state/announce";

const PAGE = 200;
/** Pages of executions that are drawn at most; older ones are left out, and the title says so. */
const PAGES = 5;
const HOURS = { "1h": 1, "6h": 6, "24h": 24 } as const;
type Hours = keyof typeof HOURS;

const PastDocument = graphql(
  `
  query TimelinePast($from: DateTime!, $after: String) {
    executions(first: 200, after: $after, filter: { startedAt: { gte: $from } }, orderBy: [{ field: ID, direction: DESC }]) {
      nodes { ...ExecutionRow }
      pageInfo { hasNextPage endCursor }
    }
  }
`,
  [ExecutionRowFragment],
);

const FutureDocument = graphql(`
  query TimelineFuture($to: DateTime!) {
    upcoming(to: $to, first: 200) {
      nodes { effectiveAt task { name } }
    }
  }
`);

interface Past {
  readonly executions: readonly ExecutionRow[];
  /** Cursor of the next page that is still to be read, null when all are there. */
  readonly next: string | null;
  readonly pages: number;
}

function readHours(): Hours {
  const value = searchParams.value.get("range");
  return value === "6h" || value === "24h" ? value : "1h";
}

/** Reads page after page, until the span is filled or enough is drawn. */
function usePast(hours: number) {
  const from = new Date(serverNow() - hours * 3_600_000).toISOString();
  const past = useLive(`timeline/${hours}`, {
    document: PastDocument,
    variables: { from, after: null },
    init: ({ executions }): Past => ({ executions: executions.nodes, next: executions.pageInfo.hasNextPage ? executions.pageInfo.endCursor : null, pages: 1 }),
    reduce: (state, event) => {
      const executions = reduceTimeline(state.executions, event);
      return executions === state.executions ? state : { ...state, executions };
    },
  });
  const { state, patch } = past;
  useEffect(() => {
    if (state === null || state.next === null || state.pages >= PAGES) return undefined;
    const controller = new AbortController();
    request(PastDocument, { from, after: state.next }, controller.signal).then(
      ({ executions }) =>
        patch((before) => ({
          executions: [...before.executions, ...executions.nodes],
          next: executions.pageInfo.hasNextPage ? executions.pageInfo.endCursor : null,
          pages: before.pages + 1,
        })),
      (error: unknown) => {
        if (!controller.signal.aborted) notify(`Older executions could not be read: ${error instanceof Error ? error.message : String(error)}`, { tone: "bad" });
      },
    );
    return () => controller.abort();
  }, [state?.next]);
  return past;
}

function usePlanned(): readonly Planned[] {
  const { state } = useLive("timeline/future", {
    document: FutureDocument,
    variables: { to: new Date(serverNow() + 3_600_000).toISOString() },
    init: ({ upcoming }): readonly Planned[] => upcoming.nodes.map(({ effectiveAt, task }) => ({ taskName: task.name, at: Date.parse(effectiveAt) })),
    outdates: (event) => event.kind.startsWith("TASK_") || event.kind === "RUN_CREATED",
    every: 20_000,
  });
  return state ?? [];
}

/** The timeline of the overview, with its span in the address. */
export function OverviewTimeline() {
  const range = readHours();
  const { state, error, reload } = usePast(HOURS[range]);
  const planned = usePlanned();
  return (
    <Section
      title="Timeline"
      aside={
        <span class="segments" role="group" aria-label="Span of the timeline">
          {(Object.keys(HOURS) as Hours[]).map((each) => (
            <button key={each} type="button" class="segment" aria-pressed={each === range} onClick={() => setParams({ range: each === "1h" ? null : each }, { replace: true })}>
              {each.replace("h", " h")}
            </button>
          ))}
        </span>
      }
    >
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {state === null ? (
        error === null && <Skeleton rows={5} />
      ) : (
        <Timeline executions={state.executions} planned={planned} hours={HOURS[range]} cut={state.next !== null && state.executions.length >= PAGE * PAGES} />
      )}
    </Section>
  );
}
