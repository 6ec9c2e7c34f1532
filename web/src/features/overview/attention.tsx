import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { graphql, type ResultOf } from "../../api/tada";
import { integer, words } from "../../lib/format";
import { paths } from "../../lib/paths";
import { inZone } from "../../lib/time";
import { frozen, now, serverNow } from "../../live/clock";
import { health, type TilesData } from "../../live/health";
import { useLive } from "../../live/use-live";
import {
  blockedGroups,
  changesOf,
  failedShare,
  headline,
  LOST_FOR,
  nodesInTrouble,
  SILENT,
  streakOf,
  toneOf,
} from "../../model/attention";
import { isFailure } from "../../model/log-filter";
import { resumeGroup } from "../../services/operations";
import { runTask } from "../../services/tasks";
import { UNSEEN_FIRINGS } from "../../state/alarms";
import { WAITING_FOR_PEOPLE } from "../../state/inbox";
import { zone } from "../../state/prefs";
import { stored } from "../../state/stored";
import { Action } from "../../ui/action";
import { ErrorBox } from "../../ui/feedback";
import { Few } from "../../ui/few";
import { Icon } from "../../ui/icon";
import { Time } from "../../ui/time";

/** So many of each kind are listed; the link below them leads to all. */
const SHOWN = 5;

/** So many in all are shown on a phone before the others are unfolded. */
const ON_PHONE = 3;

/** Attempts of a failing task that are looked at for how long it has failed. */
const LOOKED_AT = 12;

/**
 * Asked apart: to find the tasks that fail, the server looks at each. So it is asked seldom, and of a limited number.
 */
const FailingDocument = graphql(`
  query FailingTasks($first: Int!, $looked: Int!) {
    asOf
    tasks(
      first: $first
      filter: { isFailing: { eq: true }, isEnabled: { eq: true }, pausedAt: { isNull: true } }
      orderBy: [{ field: LAST_STARTED_AT, direction: DESC }]
    ) {
      totalCount
      nodes {
        name
        updatedAt
        lastStatus { id outcome errorType errorMessage }
        executions(first: $looked, orderBy: [{ field: ID, direction: DESC }]) {
          nodes { id outcome startedAt completedAt node run { id } }
        }
      }
    }
  }
`);

export const AttentionFragment = graphql(`
  fragment Attention on Query {
    late: tasks(first: $shown, filter: { isStalled: { eq: true } }) @include(if: $late) {
      totalCount
      nodes { name lastDueAt explain { sentence } }
    }
    pausedGroups: groups(first: 20, filter: { isPaused: { eq: true } }, orderBy: [{ field: DEPTH, direction: DESC }]) {
      nodes { name waiting scheduled stuck pausedAt pausedBy pauseReason }
    }
    troubledNodes: nodes(
      first: 20
      filter: { state: { in: [STALLED, EXPIRED] } }
      orderBy: [{ field: STARTED_AT, direction: DESC }]
    ) {
      nodes { id name state heartbeatAt stall }
    }
    upNodes: nodes(first: 200, filter: { state: { in: [STARTING, ACTIVE, DRAINING] } }) { nodes { name } }
    people: runs(first: $shown, filter: $people, orderBy: [{ field: ID }]) {
      totalCount
      nodes { id jobName taskName description submittedAt }
    }
    firing: alarmFirings(first: $shown, filter: $unseen) {
      totalCount
      nodes { id alarmName sentence }
    }
  }
`);

const AttentionDocument = graphql(
  `query NeedsPeople($shown: Int!, $late: Boolean!, $people: RunFilter, $unseen: AlarmFiringFilter) { asOf ...Attention }`,
  [AttentionFragment],
);

type Failing = ResultOf<typeof FailingDocument>["tasks"];
type Others = ResultOf<typeof AttentionDocument>;

/**
 * What the fragment asks for. To count late tasks the server looks at each; whether there are any it says by itself.
 */
export function attentionVariables() {
  return {
    shown: SHOWN,
    late: (health.peek()?.stalledTasks ?? 0) > 0,
    people: WAITING_FOR_PEOPLE,
    unseen: UNSEEN_FIRINGS,
  };
}

/** The tasks that fail with errors of which people know nothing. */
function useFailing() {
  return useLive("overview/failing", {
    document: FailingDocument,
    variables: () => ({ first: SHOWN, looked: LOOKED_AT }),
    init: (data): Failing => data.tasks,
    outdates: ({ kind, outcome, taskName }, shown) =>
      kind.startsWith("TASK_") ||
      kind === "FAILURES_UPDATED" ||
      (kind === "EXECUTION_FINISHED" &&
        typeof taskName === "string" &&
        ((typeof outcome === "string" && isFailure(outcome)) ||
          shown.totalCount > shown.nodes.length ||
          shown.nodes.some((task) => task.name === taskName))),
    every: 1_500,
  });
}

/** Asks again when fewer failures are known of: a silence has ended, which no event tells. */
export function useEndOfSilence({ failedLast24h, unknownFailedLast24h }: TilesData, reload: () => void): void {
  const known = failedLast24h - unknownFailedLast24h;
  const before = useRef(known);
  useEffect(() => {
    if (known < before.current) reload();
    before.current = known;
  }, [known]);
}

function useOthers(first: Others | null) {
  const late = (health.value?.stalledTasks ?? 0) > 0;
  return useLive(`overview/attention ${String(late)}`, {
    document: AttentionDocument,
    first: first !== null && late === (first.late !== undefined) ? first : null,
    variables: () => ({ ...attentionVariables(), late }),
    init: (data): Others => data,
    outdates: ({ kind, runState, runId }, { people, pausedGroups }) =>
      kind === "GROUP_UPDATED" ||
      kind.startsWith("NODE_") ||
      kind.startsWith("ALARM_") ||
      (kind.startsWith("TASK_") && late) ||
      (kind.startsWith("RUN_") &&
        (runState === "SUSPENDED" ||
          people.nodes.some((run) => run.id === runId) ||
          people.totalCount > people.nodes.length ||
          pausedGroups.nodes.length > 0)),
    expires: ({ troubledNodes }) => {
      const ends = troubledNodes.nodes
        .map((node) => Date.parse(node.heartbeatAt) + LOST_FOR)
        .filter((end) => end > serverNow());
      return ends.length === 0 ? null : Math.min(...ends);
    },
    every: 1_500,
  });
}

interface ItemProps {
  id: string;
  tone: "bad" | "warn";
  /** What it is about, and where that is. */
  name: string;
  href: string;
  /** What is wrong with it. */
  children: ComponentChildren;
  /** More of it, in one line. */
  detail?: ComponentChildren;
  action?: ComponentChildren;
}

function Item({ id, tone, name, href, children, detail, action }: ItemProps) {
  return (
    <li class="attention-item" data-row data-id={id} tabIndex={-1}>
      <span class={`tone-${tone}`}>
        <Icon name="alert" />
      </span>{" "}
      <span class="attention-text">
        <span class="attention-what">
          <a class="attention-name" href={href} title={name} data-key="Enter">
            {name}
          </a>{" "}
          {children}
        </span>{" "}
        {detail !== undefined && <span class="attention-detail dim">{detail}</span>}
      </span>{" "}
      {action !== undefined && <span class="row-actions">{action}</span>}
    </li>
  );
}

/** The first line of an error, with its type unless the message begins with it. */
function errorLine({ outcome, errorType, errorMessage }: NonNullable<Failing["nodes"][number]["lastStatus"]>): string {
  const line = (errorMessage ?? (outcome === null ? "tried again right now" : words(outcome))).split("\n", 1)[0] ?? "";
  return errorType === null || line.startsWith(errorType) ? line : `${errorType}: ${line}`;
}

function RunNow({ name }: { name: string }) {
  return (
    <Action class="button small" data-key="r" aria-label={`Run ${name} now`} onClick={() => void runTask(name)}>
      <Icon name="play" /> <span class="action-word">Run now</span>
    </Action>
  );
}

function FailingItem({ task }: { task: Failing["nodes"][number] }) {
  const { failures, since, longer } = streakOf(task.executions.nodes);
  const { edited, goodNode } = changesOf(task.executions.nodes, task.updatedAt);
  const last = task.lastStatus;
  return (
    <Item
      id={`fails ${task.name}`}
      tone="bad"
      name={task.name}
      href={paths.task(task.name)}
      detail={last === null ? undefined : <a href={paths.execution(last.id)}>{errorLine(last)}</a>}
      action={<RunNow name={task.name} />}
    >
      fails
      {since !== null && (
        <>
          {longer ? " at least since " : " since "}
          <Time at={since} form="moment" />
          {failures > 1 && `, ${integer(failures)} times in a row`}
        </>
      )}
      {edited && (
        <>
          ; <a href={`${paths.task(task.name)}?tab=changes`}>changed</a> before that,{" "}
          <Time at={task.updatedAt} form="moment" />
        </>
      )}
      {goodNode !== null && `; the last success was on node ${goodNode}`}
    </Item>
  );
}

/** Lost nodes that somebody has seen, and who does not want to see them any more; remembered by the browser. */
const dismissed = stored<readonly string[]>("cronograph.dismissed-nodes", (kept) =>
  Array.isArray(kept) ? kept.filter((id) => typeof id === "string") : [],
);
const MOST_DISMISSED = 100;

/** Which part of a node stands still; that it is silent is said anyway. */
function standstill(node: { readonly stall: string | null }): string | undefined {
  const isSilent = node.stall === null || node.stall === SILENT;
  return isSilent ? undefined : `Its ${inZone(node.stall ?? "", zone.value)} stands still`;
}

function troubledOf({ troubledNodes, upNodes }: Others) {
  return nodesInTrouble(troubledNodes.nodes, upNodes.nodes, dismissed.value, now.value);
}

function More({ href, what }: { href: string; what: string }) {
  return (
    <li class="attention-item">
      <span />
      <a href={href}>{what}</a>
    </li>
  );
}

function Items({ failing, others }: { failing: Failing | null; others: Others }) {
  const { late, people } = others;
  const items = [
    ...(others.firing?.nodes.map(({ id, alarmName, sentence }) => (
      <Item key={`alarm ${id}`} id={`alarm ${id}`} tone="bad" name={alarmName} href="/alarms">
        {inZone(sentence, zone.value)}
      </Item>
    )) ?? []),
    ...(failing?.nodes.map((task) => <FailingItem key={task.name} task={task} />) ?? []),
    failing !== null && failing.totalCount > failing.nodes.length && (
      <More key="more failing" href="/log?outcome=failures" what="All failures are in the log" />
    ),
    ...(late?.nodes.map((task) => (
      <Item
        key={`late ${task.name}`}
        id={`late ${task.name}`}
        tone="warn"
        name={task.name}
        href={paths.task(task.name)}
        detail={inZone(task.explain.sentence, zone.value)}
        action={<RunNow name={task.name} />}
      >
        did not start when it was due
        {task.lastDueAt !== null && (
          <>
            , <Time at={task.lastDueAt} />
          </>
        )}
      </Item>
    )) ?? []),
    late !== undefined && late.totalCount > late.nodes.length && (
      <More key="more late" href="/tasks?sort=started" what="All tasks, those that started longest ago last" />
    ),
    ...blockedGroups(others.pausedGroups.nodes).map((group) => (
      <Item
        key={`group ${group.name}`}
        id={`group ${group.name}`}
        tone="warn"
        name={group.name}
        href={paths.group(group.name)}
        detail={group.pauseReason === null || group.pauseReason === "" ? undefined : group.pauseReason}
        action={
          <Action
            class="button small"
            aria-label={`Resume group ${group.name}`}
            onClick={() => void resumeGroup(group.name, group.pauseReason ?? "")}
          >
            <Icon name="resume" /> <span class="action-word">Resume</span>
          </Action>
        }
      >
        is paused
        {group.pausedAt !== null && (
          <>
            {" "}
            since <Time at={group.pausedAt} form="moment" />
          </>
        )}
        {group.pausedBy !== null && ` by ${group.pausedBy}`} and holds{" "}
        {integer(group.waiting + group.scheduled + group.stuck)} back
      </Item>
    )),
    ...troubledOf(others).map((node) => (
      <Item
        key={`node ${node.id}`}
        id={`node ${node.id}`}
        tone={node.state === "STALLED" ? "bad" : "warn"}
        name={node.name}
        href={node.state === "STALLED" ? "/nodes" : "/nodes?state=gone"}
        detail={standstill(node)}
        action={
          <>
            <a class="button small" href={`/log?node=${encodeURIComponent(node.name)}`}>
              What it ran
            </a>
            {node.state === "EXPIRED" && (
              <button
                type="button"
                class="button small"
                aria-label={`Dismiss ${node.name}`}
                onClick={() => {
                  dismissed.value = [node.id, ...dismissed.value].slice(0, MOST_DISMISSED);
                }}
              >
                Dismiss
              </button>
            )}
          </>
        }
      >
        {node.state === "STALLED" ? (
          node.stall === SILENT ? (
            <>
              is silent since <Time at={node.heartbeatAt} />; after its lease other nodes take its runs
            </>
          ) : (
            "makes no progress"
          )
        ) : (
          <>
            was lost <Time at={node.heartbeatAt} />; other nodes take its runs
          </>
        )}
      </Item>
    )),
    ...people.nodes.map((run) => (
      <Item
        key={`run ${run.id}`}
        id={`run ${run.id}`}
        tone="warn"
        name={`${run.taskName ?? run.jobName} ${run.id}`}
        href={paths.run(run.id)}
        detail={run.description === "" ? undefined : run.description}
        action={
          <a class="button small" href="/inbox">
            Decide
          </a>
        }
      >
        waits for somebody; submitted <Time at={run.submittedAt} />
      </Item>
    )),
    people.totalCount > people.nodes.length && (
      <More key="more people" href="/inbox" what="All runs that wait for a person are in the inbox" />
    ),
  ];
  const shown = items.filter((item) => item !== false);
  return shown.length === 0 ? null : <Few class="attention-list" few={ON_PHONE} items={shown} />;
}

interface AttentionProps {
  /** Something worse stands above. */
  worse: boolean;
  /** The first answer to its question, if it came with that of the page. */
  first: Others | null;
  tiles: TilesData;
}

/**
 * The answer to "is anything wrong?": one line, and a list of what needs a person with what can be done about it. Small
 * when all is well.
 */
export function Attention({ worse, first, tiles }: AttentionProps) {
  const failing = useFailing();
  useEndOfSilence(tiles, () => failing.reload());
  const others = useOthers(first);
  const error = failing.error ?? others.error;
  const retry = (): void => {
    for (const live of [failing, others]) if (live.error !== null) live.reload();
  };
  const known = others.state !== null && (failing.state !== null || failing.error !== null) ? others.state : null;
  // Of the server's clock, which ticks here.
  const trouble = known === null ? [] : troubledOf(known);
  const stalledNodes = trouble.filter((node) => node.state === "STALLED").length;
  const troubles = {
    failing: failing.state?.totalCount ?? 0,
    errors: tiles.unknownErrors,
    failedJobs: tiles.unknownErrorsJobs,
    failedShare: failedShare(tiles.successRate, tiles.failedLast24h, tiles.unknownFailedLast24h),
    late: known?.late?.totalCount ?? 0,
    blocked: known === null ? 0 : blockedGroups(known.pausedGroups.nodes).length,
    stalledNodes,
    lostNodes: trouble.length - stalledNodes,
    people: known?.people.totalCount ?? 0,
    alarms: known?.firing?.totalCount ?? 0,
  };
  const tone = toneOf(troubles);
  const calm = tone === "good";
  return (
    <section
      class={`attention attention-${known === null ? "asked" : tone} ${frozen.value ? "dimmed" : ""}`}
      aria-label="Is anything wrong?"
    >
      {error !== null && <ErrorBox error={error} retry={retry} />}
      {known === null
        ? error === null && <p class="attention-head dim">Looking whether anything is wrong…</p>
        : // What is worse stands above: then all is not well.
          !(calm && (worse || failing.error !== null)) && (
            <p class="attention-head">
              <span class={`tone-${tone}`}>
                <Icon name={calm ? "check" : "alert"} />
              </span>
              <span role="status">
                {frozen.value && "Before the connection was lost: "}
                {headline(troubles, health.value)}
                {(troubles.errors > 0 || troubles.failedShare !== null) && (
                  <>
                    {" "}
                    <a
                      href={troubles.errors > 0 ? "/log?outcome=failures&range=1h" : "/log?outcome=failures&range=24h"}
                    >
                      Show failures
                    </a>
                  </>
                )}
              </span>
            </p>
          )}
      {known !== null && !calm && <Items failing={failing.state} others={known} />}
    </section>
  );
}
