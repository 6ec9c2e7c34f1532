import { useEffect } from "preact/hooks";
import { graphql, type ResultOf } from "../../api/tada";
import { integer } from "../../lib/format";
import { paths } from "../../lib/paths";
import { frozen } from "../../live/clock";
import { setTitle } from "../../live/title";
import { useLive } from "../../live/use-live";
import { Facts } from "../../parts/task-facts";
import { cancelFlow, retryFlow } from "../../services/flows";
import { searchParams } from "../../state/route";
import { Action } from "../../ui/action";
import { Empty, ErrorBox, Skeleton } from "../../ui/feedback";
import { Icon } from "../../ui/icon";
import { lazy } from "../../ui/lazy";
import { PageHead, Section } from "../../ui/section";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";
import { FlowRowFragment } from "./flow-document";
import { boxesOfJobs, boxesOfRuns, type FlowJob, type FlowRun, FOLDS_ABOVE } from "./flow-graph";
import { asksForRuns, FlowRuns } from "./flow-runs";
import { FlowProgress } from "./page";
import { countsOf, type StateCounts } from "./state-bar";

/** With the library that finds the places of boxes and lines. */
const FlowDrawing = lazy(() => import("./flow-drawing").then((module) => module.FlowDrawing), "part");

/** The server gives so many runs at once: also those in whose place a retry has put others, which are not drawn. */
const SHOWN = 200;

const FlowDocument = graphql(
  `
  query FlowPage($id: ID!, $first: Int!) {
    asOf
    serverTime
    flow(id: $id) {
      ...FlowRow
      deadlineAt
      startedByRun { id }
      startedByTask { name }
      runs(first: $first, orderBy: [{ field: ID }]) {
        nodes { id state jobName flowPlace { key after } }
      }
      jobs(first: $first) {
        nodes { jobName after progress { running success failed cancelled skipped stuck scheduled waiting suspended } }
        pageInfo { hasNextPage }
      }
    }
  }
`,
  [FlowRowFragment],
);

type Flow = NonNullable<ResultOf<typeof FlowDocument>["flow"]>;

/** A flow: how far it is, and its runs in layers. */
export function FlowPage({ id }: { id: string }) {
  const { state, error, reload } = useLive(`flow/${id}`, {
    document: FlowDocument,
    variables: () => ({ id, first: SHOWN }),
    init: ({ flow }) => ({ flow }),
    outdates: ({ flowId }) => flowId === id,
    every: 1_500,
  });
  useEffect(() => setTitle(`Flow ${id}`), [id]);
  useEffect(() => FlowDrawing.preload(), []);
  const flow = state?.flow ?? null;
  if (flow === null) {
    return (
      <>
        <PageHead title={`Flow ${id}`} />
        {error !== null ? (
          <ErrorBox error={error} retry={reload} />
        ) : state === null ? (
          <Skeleton rows={8} />
        ) : (
          <Empty title={`There is no flow ${id}`}>
            <p class="dim">It may have been pruned with the history.</p>
            <a class="button" href="/flows">
              All flows
            </a>
          </Empty>
        )}
      </>
    );
  }
  return (
    <>
      <FlowHead flow={flow} />
      {error !== null && <ErrorBox error={error} retry={reload} />}
      <div class={error === null && !frozen.value ? "" : "dimmed"}>
        <Section title="Runs" aside={<RunsNote flow={flow} />}>
          <FlowDrawing
            chosen={searchParams.value.get("job") ?? ""}
            boxes={
              isFolded(flow) ? boxesOfJobs(flow.jobs.nodes.map(jobOf)) : boxesOfRuns(flow.runs.nodes.flatMap(runOf))
            }
          />
        </Section>
        {asksForRuns() && <FlowRuns id={id} counts={(job) => countsOfJob(flow, job)} />}
        <Section title="Facts">
          <FlowFacts flow={flow} />
        </Section>
      </div>
    </>
  );
}

/** Runs in whose place a retry has put others have no place any more. */
function isFolded({ progress }: Flow): boolean {
  return progress.total > FOLDS_ABOVE;
}

function jobOf({ jobName, after, progress }: Flow["jobs"]["nodes"][number]): FlowJob {
  return {
    jobName,
    after,
    counts: countsOf(progress),
  };
}

function runOf({ id, state, jobName, flowPlace }: Flow["runs"]["nodes"][number]): readonly FlowRun[] {
  return flowPlace === null ? [] : [{ id, state, jobName, key: flowPlace.key, after: flowPlace.after }];
}

/** The states of the runs of one job, or of all. */
function countsOfJob({ progress, jobs }: Flow, job: string): StateCounts {
  if (job === "") return countsOf(progress);
  const found = jobs.nodes.find(({ jobName }) => jobName === job);
  return found === undefined ? new Map() : countsOf(found.progress);
}

function RunsNote({ flow }: { flow: Flow }) {
  return (
    <>
      {isFolded(flow) && (
        <span class="dim">
          {integer(flow.progress.total)}, folded by job
          {flow.jobs.pageInfo.hasNextPage && `; the first ${SHOWN} jobs`}
        </span>
      )}
      {!asksForRuns() && (
        <a class="button small" href={`${paths.flow(flow.id)}?list=1`}>
          <Icon name="table" /> List
        </a>
      )}
    </>
  );
}

function FlowHead({ flow }: { flow: Flow }) {
  const isOver = flow.state !== "RUNNING";
  return (
    <PageHead
      title={
        <>
          Flow <span class="num">{flow.id}</span> {flow.name} <Status name={flow.state} />
        </>
      }
    >
      {isOver ? (
        (flow.state === "FAILED" || flow.state === "CANCELLED") && (
          <Action
            class="button primary"
            title="New runs in the place of those that failed or were cancelled, and of what these kept from starting"
            onClick={() => void retryFlow(flow.id)}
          >
            <Icon name="retry" /> Retry what failed
          </Action>
        )
      ) : (
        <Action
          class="button danger"
          reason={flow.cancelRequestedAt === null ? null : "It is asked to stop already"}
          onClick={() => void cancelFlow(flow.id)}
        >
          <Icon name="stop" /> {flow.cancelRequestedAt === null ? "Cancel" : "Asked to stop"}
        </Action>
      )}
    </PageHead>
  );
}

function FlowFacts({ flow }: { flow: Flow }) {
  return (
    <Facts
      entries={[
        ["Progress", <FlowProgress flow={flow} />],
        ["Enqueued", <Time at={flow.submittedAt} form="full" />],
        [
          "Ended",
          flow.finishedAt === null ? (
            flow.isOpen ? (
              "not yet; open for more runs"
            ) : (
              "not yet"
            )
          ) : (
            <Time at={flow.finishedAt} form="full" />
          ),
        ],
        ["Submitted by", flow.submitter ?? "–"],
        ["Unique key", flow.uniqueKey ?? "–"],
        ...(flow.deadlineAt === null ? [] : ([["Deadline", <Time at={flow.deadlineAt} form="full" />]] as const)),
        ...(flow.startedByRun === null
          ? []
          : ([["Begun by", <a href={paths.run(flow.startedByRun.id)}>run {flow.startedByRun.id}</a>]] as const)),
        ...(flow.startedByTask === null
          ? []
          : ([["Task", <a href={paths.task(flow.startedByTask.name)}>{flow.startedByTask.name}</a>]] as const)),
      ]}
    />
  );
}
