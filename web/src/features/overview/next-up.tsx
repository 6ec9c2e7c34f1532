import { useState } from "preact/hooks";
import { graphql, type ResultOf } from "../../api/tada";
import { paths } from "../../lib/paths";
import { serverNow } from "../../live/clock";
import { useLive } from "../../live/use-live";
import { PauseDialog } from "../../parts/dialogs";
import { pauseTasks, runTask } from "../../services/tasks";
import { Action } from "../../ui/action";
import { Command, Empty } from "../../ui/feedback";
import { Icon } from "../../ui/icon";
import { LivePart } from "../../ui/live-part";
import { Section } from "../../ui/section";
import { Time } from "../../ui/time";
import { usePhone } from "../../ui/use-phone";
import { useSteady } from "../../ui/use-steady";
import { CLEAN_UPS, firstOfEach, NEXT_UP, type NextUp as Next, nextLook } from "./next-up-model";

/**
 * Of each task one occurrence in so many seconds is looked at: a task that comes often pushes no other off the list.
 * What is due later than a day from now follows by its own next time.
 */
const APART = 86_400;

export const NextUpFragment = graphql(`
  fragment NextUp on Query {
    upcoming(first: $next, apart: $apart, filter: { jobName: { notIn: $cleanUps } }) {
      nodes {
        effectiveAt
        task { name schedule { humanized timezone } }
      }
    }
    nextTasks: tasks(
      first: $next
      orderBy: [{ field: NEXT_EXECUTION_AT }]
      filter: {
        isEnabled: { eq: true }
        pausedAt: { isNull: true }
        nextExecutionAt: { isNull: false }
        jobName: { notIn: $cleanUps }
      }
    ) {
      nodes { name nextExecutionAt schedule { humanized timezone } }
    }
    anyTask: tasks(first: 1, filter: { jobName: { notIn: $cleanUps } }) { nodes { name } }
  }
`);

const NextDocument = graphql(
  `query NextUpAlone($next: Int!, $apart: Duration!, $cleanUps: [String!]!) { asOf ...NextUp }`,
  [NextUpFragment],
);

/** On a phone so many are shown: three screens have all of the overview. */
const ON_PHONE = 4;

type NextAnswer = ResultOf<typeof NextDocument>;

/** What the fragment asks for. */
export const NEXT_UP_VARIABLES = { next: NEXT_UP, apart: APART, cleanUps: CLEAN_UPS };

interface State {
  readonly next: readonly Next[];
  /** Whether there is any task. */
  readonly any: boolean;
}

interface Planned {
  readonly name: string;
  readonly schedule: { readonly humanized: string | null; readonly timezone: string };
}

function nextOf({ name, schedule }: Planned, at: string): Next {
  return { id: name, at, sentence: schedule.humanized ?? "", timezone: schedule.timezone };
}

/** What the server plans next, asked again as it comes due and as tasks change. */
function useNextUp(first: NextAnswer | null) {
  return useLive("overview/next", {
    document: NextDocument,
    first,
    variables: () => NEXT_UP_VARIABLES,
    init: ({ upcoming, nextTasks, anyTask }): State => ({
      next: firstOfEach([
        ...upcoming.nodes.map(({ effectiveAt, task }) => nextOf(task, effectiveAt)),
        ...nextTasks.nodes.flatMap((task) => (task.nextExecutionAt === null ? [] : nextOf(task, task.nextExecutionAt))),
      ]),
      any: anyTask.nodes.length > 0,
    }),
    outdates: (event) => event.kind.startsWith("TASK_"),
    expires: ({ next }) => nextLook(next, serverNow()),
    every: 1_500,
  });
}

/**
 * The tasks that are due next, each with its next time; `first` is the first answer, if it came with that of the page.
 */
export function NextUp({ first }: { first: NextAnswer | null }) {
  const live = useNextUp(first);
  return (
    <Section title="Next up" aside={<a href="/tasks?sort=next">All tasks</a>}>
      <LivePart live={live} rows={NEXT_UP}>
        {(state) => <NextList {...state} />}
      </LivePart>
    </Section>
  );
}

function NextList({ next: all, any }: State) {
  const phone = usePhone();
  const next = phone ? all.slice(0, ON_PHONE) : all;
  const { rows, left, bind } = useSteady(next, (row) => row.id);
  const [pausing, setPausing] = useState<string | null>(null);
  return (
    <>
      {rows.length === 0 ? (
        <NothingNext any={any} />
      ) : (
        <ul class="next-list" {...bind}>
          {rows.map((each) => (
            <NextItem key={each.id} next={each} left={left.has(each.id)} askPause={() => setPausing(each.id)} />
          ))}
        </ul>
      )}
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

function NothingNext({ any }: { any: boolean }) {
  if (any) {
    return (
      <Empty title="No task has a next time">
        <p class="dim">All tasks are paused or finished.</p>
        <a class="button" href="/tasks?state=paused">
          Paused tasks
        </a>
      </Empty>
    );
  }
  return (
    <Empty title="No tasks yet">
      <p class="dim">
        A task runs a job on a schedule. <a href="/tasks?new=1">Make one here</a>, or declare a schedule in the code:
      </p>
      <Command text={'@job("nightly_report", schedule="0 30 2 * * *")'} />
    </Empty>
  );
}

interface NextItemProps {
  next: Next;
  /** It is no longer due, and shows only until the pointer leaves. */
  left: boolean;
  askPause: () => void;
}

function NextItem({ next, left, askPause }: NextItemProps) {
  const [busy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    await runTask(next.id);
    setBusy(false);
  };
  return (
    <li class={left ? "next-item left" : "next-item"} data-row data-id={next.id} tabIndex={-1}>
      <a class="next-name" href={paths.task(next.id)} data-key="Enter">
        {next.id}
      </a>{" "}
      <span class="next-when">{left ? "–" : <Time at={next.at} form="countdown" />}</span>{" "}
      <span class="next-sentence dim">
        {next.sentence} <span class="zone-tag">{next.timezone}</span>
      </span>{" "}
      <span class="row-actions">
        <Action
          class="icon-button"
          data-key="r"
          disabled={busy}
          title="Run now"
          aria-label={`Run ${next.id} now`}
          onClick={() => void run()}
        >
          <Icon name="play" />
        </Action>
        <Action class="icon-button" title="Pause" aria-label={`Pause ${next.id}`} onClick={askPause}>
          <Icon name="pause" />
        </Action>
      </span>
    </li>
  );
}
