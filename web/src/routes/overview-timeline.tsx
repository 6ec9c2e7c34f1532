import { useEffect } from "preact/hooks";
import { ErrorBox, Skeleton } from "../components/feedback";
import { Section } from "../components/section";
import { Timeline } from "../components/timeline";
import { request } from "../graphql/client";
import { ExecutionRowFragment, type ExecutionRow } from "../graphql/fragments";
import { graphql, type ResultOf, type TadaDocumentNode } from "../graphql/tada";
import { serverNow } from "../live/clock";
import { type LiveResult, useLive } from "../live/use-live";
import { type Planned, reduceTimeline } from "../model/timeline";
import { notify } from "../state/announce";
import { searchParams, setParams } from "../state/route";

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
  query TimelineFuture($to: DateTime!, $after: String) {
    upcoming(to: $to, first: 200, after: $after) {
      nodes { effectiveAt task { name } }
      pageInfo { hasNextPage endCursor }
    }
  }
`);

interface Pages {
  /** Cursor of the next page that is still to be read, null when all are there. */
  readonly next: string | null;
  readonly pages: number;
}

interface Past extends Pages {
  readonly executions: readonly ExecutionRow[];
}

function nextCursor({ hasNextPage, endCursor }: { readonly hasNextPage: boolean; readonly endCursor: string | null }): string | null {
  return hasNextPage ? endCursor : null;
}

interface Rest<R, V, S> {
  readonly document: TadaDocumentNode<R, V>;
  variables(state: S): V;
  append(page: R, before: S): S;
}

/** Reads the pages behind the first one, until all are there or enough is drawn. */
function useRest<R, V, S extends Pages>({ state, patch }: LiveResult<S>, { document, variables, append }: Rest<R, V, S>): void {
  useEffect(() => {
    if (state === null || state.next === null || state.pages >= PAGES) return undefined;
    const controller = new AbortController();
    request(document, variables(state), controller.signal).then(
      (page) => patch((before) => append(page, before)),
      (error: unknown) => {
        if (!controller.signal.aborted) notify(`The timeline could not be read in full: ${error instanceof Error ? error.message : String(error)}`, { tone: "bad" });
      },
    );
    return () => controller.abort();
  }, [state?.next]);
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
    init: ({ executions }): Past => ({ executions: executions.nodes, next: nextCursor(executions.pageInfo), pages: 1 }),
    reduce: (state, event) => {
      const executions = reduceTimeline(state.executions, event);
      return executions === state.executions ? state : { ...state, executions };
    },
  });
  useRest(past, {
    document: PastDocument,
    variables: (state) => ({ from, after: state.next }),
    append: ({ executions }, before): Past => ({ executions: [...before.executions, ...executions.nodes], next: nextCursor(executions.pageInfo), pages: before.pages + 1 }),
  });
  return past;
}

type FuturePage = ResultOf<typeof FutureDocument>["upcoming"];

function plannedOf(page: FuturePage): readonly Planned[] {
  return page.nodes.map(({ effectiveAt, task }) => ({ taskName: task.name, at: Date.parse(effectiveAt) }));
}

interface Future extends Pages {
  readonly planned: readonly Planned[];
  /** The end of the hour, the same for all its pages. */
  readonly to: string;
}

/** The plan of the next hour, page after page like the past. */
function usePlanned(): Pick<Future, "planned"> & { readonly until: number | null } {
  const to = new Date(serverNow() + 3_600_000).toISOString();
  const future = useLive("timeline/future", {
    document: FutureDocument,
    variables: { to, after: null },
    init: ({ upcoming }): Future => ({ planned: plannedOf(upcoming), next: nextCursor(upcoming.pageInfo), pages: 1, to }),
    outdates: (event) => event.kind.startsWith("TASK_") || event.kind === "RUN_CREATED",
    every: 30_000,
  });
  useRest(future, {
    document: FutureDocument,
    variables: (state) => ({ to: state.to, after: state.next }),
    append: ({ upcoming }, before): Future => ({ ...before, planned: [...before.planned, ...plannedOf(upcoming)], next: nextCursor(upcoming.pageInfo), pages: before.pages + 1 }),
  });
  if (future.state === null) return { planned: [], until: null };
  const { planned, next } = future.state;
  return { planned, until: next === null ? null : (planned.at(-1)?.at ?? null) };
}

/** The timeline of the overview, with its span in the address. */
export function OverviewTimeline() {
  const range = readHours();
  const { state, error, reload } = usePast(HOURS[range]);
  const { planned, until } = usePlanned();
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
        <Timeline executions={state.executions} planned={planned} plannedUntil={until} hours={HOURS[range]} cut={state.next !== null && state.executions.length >= PAGE * PAGES} />
      )}
    </Section>
  );
}
