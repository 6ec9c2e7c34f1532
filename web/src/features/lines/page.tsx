import { useEffect, useState } from "preact/hooks";
import { request } from "../../api/client";
import { graphql, type ResultOf } from "../../api/tada";
import { plainText } from "../../lib/ansi";
import { paths } from "../../lib/paths";
import { inZone } from "../../lib/time";
import { serverNow } from "../../live/clock";
import { setTitle } from "../../live/title";
import { RANGES, rangeWords } from "../../model/log-filter";
import { zone } from "../../state/prefs";
import { searchParams } from "../../state/route";
import { Empty, ErrorBox, Skeleton } from "../../ui/feedback";
import { Pager } from "../../ui/pager";
import { PageHead } from "../../ui/section";
import { Time } from "../../ui/time";
import { SearchBar } from "../search/bar";
import { isKnown, searchOf, type Term, type Vocabulary } from "../search/model";
import { pieces } from "./model";

const PAGE = 50;
const RANGE: Term = {
  prefix: "range:",
  param: "range",
  label: "Started within",
  options: Object.keys(RANGES).map((range) => [range, `last ${rangeWords(range)}`]),
};
const SEARCH: Vocabulary = {
  label: "Text in log lines",
  param: "q",
  terms: [
    { prefix: "job:", param: "job", label: "Job", names: "job", exact: true },
    { prefix: "task:", param: "task", label: "Task", names: "task", exact: true },
    { prefix: "execution:", param: "execution", label: "Execution", form: "number" },
    RANGE,
  ],
};

const LinesDocument = graphql(`
  query LogLines(
    $text: String!
    $job: String
    $task: String
    $execution: ID
    $from: DateTime
    $first: Int!
    $after: String
  ) {
    logSearch(
      text: $text
      jobName: $job
      taskName: $task
      executionId: $execution
      from: $from
      first: $first
      after: $after
    ) {
      nodes {
        executionId
        line { line at level message }
        execution { jobName taskName attempt }
      }
      sentence
      pageInfo { hasNextPage endCursor }
    }
  }
`);

type Found = ResultOf<typeof LinesDocument>["logSearch"];

interface Wanted {
  readonly text: string;
  readonly job: string | null;
  readonly task: string | null;
  readonly execution: string | null;
  readonly range: keyof typeof RANGES | null;
  readonly after: string | null;
}

/** What the address asks for; null as long as it does not say what is to be looked for, or where. */
function readWanted(params: URLSearchParams): Wanted | null {
  const { free, terms } = searchOf(SEARCH, params);
  const [job = null, task = null, execution = null, range = ""] = ["job", "task", "execution", "range"].map((name) =>
    terms.get(name),
  );
  const places = [execution, task, job].filter((place) => place !== null);
  if (free === "" || places.length === 0 || (execution !== null && !/^\d+$/.test(execution))) return null;
  // Where several are given the narrowest holds.
  const chosen =
    execution !== null
      ? { job: null, task: null, execution }
      : task !== null
        ? { job: null, task, execution: null }
        : { job, task: null, execution: null };
  return {
    text: free,
    ...chosen,
    range: isKnown(RANGE, range ?? "") ? (range as keyof typeof RANGES) : null,
    after: params.get("after"),
  };
}

interface Asked {
  readonly found: Found | null;
  readonly error: Error | null;
  readonly again: () => void;
}

/** The answer to a search, asked once: lines that are found do not change. */
function useFound(wanted: Wanted | null): Asked {
  const [answer, setAnswer] = useState<{ readonly found: Found | null; readonly error: Error | null }>({
    found: null,
    error: null,
  });
  const [attempt, setAttempt] = useState(0);
  const key = JSON.stringify(wanted);
  useEffect(() => {
    setAnswer({ found: null, error: null });
    if (wanted === null) return undefined;
    const controller = new AbortController();
    const { range, ...rest } = wanted;
    const from = range === null ? null : new Date(serverNow() - RANGES[range] * 3_600_000).toISOString();
    request(LinesDocument, { ...rest, from, first: PAGE }, controller.signal).then(
      ({ logSearch }) => setAnswer({ found: logSearch, error: null }),
      (error: unknown) =>
        controller.signal.aborted ||
        setAnswer({ found: null, error: error instanceof Error ? error : new Error(String(error)) }),
    );
    return () => controller.abort();
  }, [key, attempt]);
  return { ...answer, again: () => setAttempt(attempt + 1) };
}

/** Lines of the log that hold a text: of an execution, or of the newest ones of a job or a task. */
export function Lines() {
  const params = searchParams.value;
  const wanted = readWanted(params);
  const { found, error, again } = useFound(wanted);
  useEffect(() => setTitle("Log lines"), []);
  return (
    <>
      <PageHead title="Log lines" />
      <SearchBar vocabulary={SEARCH} />
      {wanted === null ? (
        <section class="panel">
          <Empty title="What to look for, and where">
            <p class="dim">
              Type a text, and with it <code>job:</code>, <code>task:</code> or <code>execution:</code>. The newest
              executions are looked through first.
            </p>
          </Empty>
        </section>
      ) : error !== null ? (
        <ErrorBox error={error} retry={again} />
      ) : found === null ? (
        <Skeleton rows={8} />
      ) : (
        <Matches found={found} wanted={wanted} />
      )}
    </>
  );
}

function Matches({ found, wanted }: { found: Found; wanted: Wanted }) {
  return (
    <section class="panel" aria-label="Lines">
      <p class={found.pageInfo.hasNextPage ? "panel-body tone-warn" : "panel-body dim"} role="status">
        {inZone(found.sentence, zone.value)}
      </p>
      <ul class="lines">
        {found.nodes.map(({ executionId, line, execution }) => (
          <li key={`${executionId} ${line.line}`} data-row data-id={`${executionId}.${line.line}`} tabIndex={0}>
            <a data-key="Enter" href={`${paths.execution(executionId)}#L${line.line}`}>
              #{executionId} line {line.line}
            </a>{" "}
            <span class="dim">
              {execution !== null && (execution.taskName ?? execution.jobName)} <Time at={line.at} form="moment" />{" "}
              {line.level.toLowerCase()}
            </span>
            <code class={`level-${line.level.toLowerCase()}`}>
              {pieces(plainText(line.message), wanted.text).map(({ text, hit }) => (hit ? <mark>{text}</mark> : text))}
            </code>
          </li>
        ))}
      </ul>
      <Pager
        after={wanted.after ?? ""}
        end={found.pageInfo.endCursor}
        more={found.pageInfo.hasNextPage}
        shown={found.nodes.length}
      />
    </section>
  );
}
