import { useEffect } from "preact/hooks";
import { type ExecutionRow, ExecutionRowFragment } from "../../api/fragments";
import { graphql } from "../../api/tada";
import { words } from "../../lib/format";
import { paths } from "../../lib/paths";
import { executionStatus } from "../../lib/status";
import { setTitle } from "../../live/title";
import { useLive } from "../../live/use-live";
import { Facts } from "../../parts/task-facts";
import { navigate } from "../../state/route";
import { Empty, ErrorBox, Skeleton } from "../../ui/feedback";
import { Name } from "../../ui/name";
import { PageHead, Section } from "../../ui/section";
import { Status } from "../../ui/status";
import { AttemptPanel } from "./attempt";

const ExecutionDocument = graphql(
  `
  query ExecutionPage($id: ID!) {
    asOf
    serverTime
    execution(id: $id) { ...ExecutionRow }
  }
`,
  [ExecutionRowFragment],
);

/** Leads to the run of an execution, with this attempt chosen. One whose run was pruned is shown by itself. */
export function ExecutionPage({ id }: { id: string }) {
  const { state, error, reload } = useLive(`execution/${id}`, {
    document: ExecutionDocument,
    variables: () => ({ id }),
    init: (data): { readonly execution: ExecutionRow | null } => ({ execution: data.execution }),
    outdates: (event) => event.executionId === id,
  });
  const execution = state?.execution ?? null;
  const run = execution?.run?.id ?? null;
  useEffect(() => setTitle(`#${id}`), [id]);
  useEffect(() => {
    if (execution !== null && run !== null)
      navigate(`${paths.attempt(run, execution.attempt)}${levelOf(location.search)}${location.hash}`, {
        replace: true,
      });
  }, [run, execution?.attempt]);
  if (execution !== null && run === null) return <Alone execution={execution} />;
  return (
    <>
      <PageHead title={`#${id}`} />
      {error !== null ? (
        <ErrorBox error={error} retry={reload} />
      ) : state === null || run !== null ? (
        <Skeleton rows={10} />
      ) : (
        <Empty title={`There is no execution #${id}`}>
          <p class="dim">It may have been pruned with the history.</p>
          <a class="button" href="/log">
            The whole log
          </a>
        </Empty>
      )}
    </>
  );
}

/** The level of the log in an old address, for the new one. */
function levelOf(search: string): string {
  const level = new URLSearchParams(search).get("level");
  return level === null ? "" : `&level=${encodeURIComponent(level)}`;
}

function Alone({ execution }: { execution: ExecutionRow }) {
  return (
    <>
      <PageHead
        title={
          <>
            <span class="num">#{execution.id}</span> <Name text={execution.taskName ?? execution.jobName} />{" "}
            <Status name={executionStatus(execution)} />
          </>
        }
      />
      <p class="dim">Its run was pruned with the history.</p>
      <AttemptPanel execution={execution} />
      <Section title="Facts">
        <Facts
          entries={[
            ["Job", <a href={paths.job(execution.jobName)}>{execution.jobName}</a>],
            [
              "Task",
              execution.taskName === null ? "–" : <a href={paths.task(execution.taskName)}>{execution.taskName}</a>,
            ],
            ["Trigger", words(execution.trigger)],
          ]}
        />
      </Section>
    </>
  );
}
