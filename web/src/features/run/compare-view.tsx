import { useState } from "preact/hooks";
import { ExecutionRowFragment } from "../../api/fragments";
import { graphql, type ResultOf } from "../../api/tada";
import { integer, plural, words } from "../../lib/format";
import { paths } from "../../lib/paths";
import { executionStatus } from "../../lib/status";
import { duration } from "../../lib/time";
import { useLive } from "../../live/use-live";
import { setParams } from "../../state/route";
import { ErrorBox, Skeleton } from "../../ui/feedback";
import { Section } from "../../ui/section";
import { Status } from "../../ui/status";
import { Elapsed, Time } from "../../ui/time";
import { compared, isSince, type Kind, type Line, type Other, readOther, type Side } from "./compare";
import type { RunDetail } from "./document";
import { useNeighbours } from "./neighbours";

const SideFragment = graphql(
  `
  fragment Compared on Run {
    id
    jobName
    taskName
    args
    result
    state
    steps(first: 300) { nodes { label attempt startedAt finishedAt } }
  }
`,
);

const CompareDocument = graphql(
  `
  query CompareAttempts($left: ID!, $right: ID!, $one: ExecutionFilter, $other: ExecutionFilter) {
    asOf
    left: run(id: $left) {
      ...Compared
      executions(first: 1, filter: $one, orderBy: [{ field: ID, direction: DESC }]) { nodes { ...ExecutionRow } }
    }
    right: run(id: $right) {
      ...Compared
      executions(first: 1, filter: $other, orderBy: [{ field: ID, direction: DESC }]) { nodes { ...ExecutionRow } }
    }
  }
`,
  [SideFragment, ExecutionRowFragment],
);

type Compared = NonNullable<ResultOf<typeof CompareDocument>["left"]>;

/** The facts of the attempt that was read of a run; null without any. */
function sideOf(run: Compared | null): (Side & { readonly attempt: number }) | null {
  const execution = run?.executions.nodes[0];
  if (run === null || execution === undefined) return null;
  return {
    attempt: execution.attempt,
    outcome: executionStatus(execution),
    trigger: words(execution.trigger),
    node: execution.node,
    startedAt: execution.startedAt,
    wait: execution.wait,
    // Where it is suspended, its last attempt is over and its waits go on.
    open: execution.completedAt === null || run.state === "SUSPENDED",
    duration: execution.duration,
    records: execution.recordsProcessed,
    error: execution.errorMessage,
    args: run.args,
    result: execution.outcome === "SUCCESS" ? run.result : null,
    steps: run.steps.nodes.filter(({ attempt }) => attempt === execution.attempt),
  };
}

/** With what this attempt is to be compared. */
export function CompareChoice({ run, attempt }: { run: RunDetail; attempt: number }) {
  const { older, newer } = useNeighbours(run);
  const attempts = run.executions.nodes.filter((execution) => execution.attempt !== attempt);
  return (
    <select
      class="select"
      aria-label="Compare with"
      value=""
      onChange={(event) => setParams({ with: event.currentTarget.value })}
    >
      <option value="">Compare with…</option>
      {attempts.map((execution) => (
        <option key={execution.id} value={`${run.id}.${execution.attempt}`}>
          attempt {execution.attempt}
        </option>
      ))}
      {typeof older === "string" && <option value={older}>previous run, {older}</option>}
      {typeof newer === "string" && <option value={newer}>next run, {newer}</option>}
      {run.retriedFrom !== null && run.retriedFrom.id !== older && (
        <option value={run.retriedFrom.id}>run {run.retriedFrom.id}, which it retries</option>
      )}
    </select>
  );
}

interface ComparisonProps {
  run: RunDetail;
  attempt: number;
  other: Other;
}

/** This attempt and another one next to each other; what differs comes first. */
export function Comparison({ run, attempt, other }: ComparisonProps) {
  const { state, error, reload } = useLive(`compare/${run.id}.${attempt}/${other.run}.${other.attempt}`, {
    document: CompareDocument,
    variables: () => ({
      left: run.id,
      right: other.run,
      one: { attempt: { eq: attempt } },
      other: other.attempt === null ? null : { attempt: { eq: other.attempt } },
    }),
    init: (data) => ({ left: sideOf(data.left), right: sideOf(data.right) }),
    outdates: (event) => event.runId === run.id || event.runId === other.run,
    every: 1_500,
  });
  return (
    <Section title="Comparison" aside={<Aside other={other} />}>
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {state === null ? (
        error === null && <Skeleton rows={4} />
      ) : state.left === null || state.right === null ? (
        <p class="panel-body">
          {state.right === null
            ? `${nameOf(other)} is not there, or has not started.`
            : "This attempt is not there any more."}
        </p>
      ) : (
        <Lines
          lines={compared(state.left, state.right)}
          left={`run ${run.id}, attempt ${attempt}`}
          right={{
            name: `run ${other.run}, attempt ${state.right.attempt}`,
            href: paths.attempt(other.run, state.right.attempt),
          }}
        />
      )}
    </Section>
  );
}

function nameOf({ run, attempt }: Other): string {
  return attempt === null ? `Run ${run}` : `Attempt ${attempt} of run ${run}`;
}

/** Another run by its number, and the way out. */
function Aside({ other }: { other: Other }) {
  const [text, setText] = useState(other.attempt === null ? other.run : `${other.run}.${other.attempt}`);
  const read = readOther(text);
  return (
    <form
      class="compare-other"
      onSubmit={(event) => {
        event.preventDefault();
        if (read !== null) setParams({ with: text.trim() });
      }}
    >
      <label>
        <span class="dim">with run</span>{" "}
        <input
          class="input num"
          value={text}
          inputMode="decimal"
          aria-invalid={read === null}
          title="The number of a run, or 812.3 for its third attempt"
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="button" class="button small" onClick={() => setParams({ with: null })}>
        Close
      </button>
    </form>
  );
}

interface LinesProps {
  lines: readonly Line[];
  left: string;
  right: { readonly name: string; readonly href: string };
}

function Lines({ lines, left, right }: LinesProps) {
  const [all, setAll] = useState(false);
  const differing = lines.filter(({ differs, kind }) => differs || kind === "time");
  const alike = lines.length - differing.length;
  return (
    <div class="compare">
      <table class="compare-table">
        <thead>
          <tr>
            <th scope="col">
              <span class="visually-hidden">What</span>
            </th>
            <th scope="col">{left}</th>
            <th scope="col">
              <a href={right.href}>{right.name}</a>
            </th>
          </tr>
        </thead>
        <tbody>
          {(all ? lines : differing).map((line) => (
            <tr key={line.name} class={line.differs ? "differs" : "dim"}>
              <th scope="row">{line.name}</th>
              <td>
                <Value line={line} value={line.left} />
              </td>
              <td>
                <Value line={line} value={line.right} />
                {line.kind === "seconds" && <Difference line={line} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="panel-body dim">
        {differing.every(({ differs }) => !differs) && "Nothing differs. "}
        {alike > 0 && (
          <button type="button" class="link-button" aria-expanded={all} onClick={() => setAll(!all)}>
            {all ? "Show what differs" : `${plural(alike, "line")} alike`}
          </button>
        )}
      </p>
    </div>
  );
}

function Value({ line, value }: { line: Line; value: unknown }) {
  if (value === undefined) return <span class="dim">–</span>;
  if (line.kind === "seconds" && isSince(value))
    return (
      <>
        <Elapsed since={value.since} /> so far
      </>
    );
  if (line.name === "Outcome") return <Status name={String(value)} />;
  return line.kind === "time" ? (
    <Time at={String(value)} form="moment" />
  ) : (
    <span class={line.kind === "json" ? "mono" : undefined}>{written(line.kind, value)}</span>
  );
}

function written(kind: Kind, value: unknown): string {
  if (kind === "json") return JSON.stringify(value);
  if (typeof value !== "number") return String(value);
  return kind === "seconds" ? duration(value) : integer(value);
}

/** By how much the right one took longer: `×1.4`. */
function Difference({ line: { left, right, differs } }: { line: Line }) {
  if (!differs || typeof left !== "number" || typeof right !== "number" || left <= 0) return null;
  return <span class="dim num"> ×{(right / left).toFixed(right / left < 10 ? 1 : 0)}</span>;
}
