import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { graphql, type ResultOf } from "../../api/tada";
import { capped, cappedPlural, plural, words } from "../../lib/format";
import { paths } from "../../lib/paths";
import { duration, wholeDuration } from "../../lib/time";
import { setTitle } from "../../live/title";
import { useLive } from "../../live/use-live";
import { Facts } from "../../parts/task-facts";
import { density, type Theme, theme, zone } from "../../state/prefs";
import { ErrorBox, Skeleton } from "../../ui/feedback";
import { Field, Select } from "../../ui/field";
import { Name } from "../../ui/name";
import { PageHead, Section } from "../../ui/section";
import { Time } from "../../ui/time";

const SettingsDocument = graphql(`
  query SettingsPage {
    asOf
    serverTime
    viewer { name role }
    nodes(first: 200, filter: { state: { in: [ACTIVE, STALLED] } }) { nodes { version slots } totalCount }
    task(name: "prune_history") { name }
    retention { seconds maxPerTask groups { name seconds } jobs { name seconds } archive { location completeUntilAt } }
    cleanups: tasks(
      first: 20
      filter: {
        jobName: {
          in: [
            "prune_history"
            "cleanup_expired_sessions"
            "cleanup_expired_refresh_tokens"
            "cleanup_expired_device_codes"
            "cleanup_expired_challenges"
          ]
        }
      }
    ) {
      nodes { name pausedAt nextExecutionAt schedule { humanized timezone } }
    }
    readReplica { isInUse lag reason }
    limited: groups(first: 0, filter: { maxRunning: { isNull: false } }) { totalCount }
    paused: groups(first: 0, filter: { isPaused: { eq: true } }) { totalCount }
  }
`);

type Data = ResultOf<typeof SettingsDocument>;

const ENTRIES = {
  theme: [
    ["auto", "as the system has it"],
    ["light", "light"],
    ["dark", "dark"],
  ],
  zone: [
    ["utc", "UTC"],
    ["local", "local time"],
  ],
  density: [
    ["compact", "one line each"],
    ["comfortable", "comfortable"],
  ],
} as const;

/** What this browser keeps for itself. */
function OfBrowser() {
  return (
    <Section title="This browser">
      <div class="panel-body form">
        <Field label="Theme">
          <Select value={theme.value} onChange={(value) => (theme.value = value as Theme)} options={ENTRIES.theme} />
        </Field>
        <Field label="Times">
          <Select
            value={zone.value}
            onChange={(value) => (zone.value = value === "local" ? "local" : "utc")}
            options={ENTRIES.zone}
          />
        </Field>
        <Field label="Rows of lists">
          <Select
            value={density.value}
            onChange={(value) => (density.value = value === "comfortable" ? "comfortable" : "compact")}
            options={ENTRIES.density}
          />
        </Field>
      </div>
    </Section>
  );
}

/** The standby that answers queries, and why it does not. */
function Replica({ isInUse, lag, reason }: NonNullable<Data["readReplica"]>) {
  const behind = lag === null ? "it cannot be asked" : lag < 0.05 ? "up to date" : `${duration(lag)} behind`;
  return isInUse ? (
    `answers queries, ${behind}`
  ) : (
    <span class="tone-warn">{`${behind}, so the database answers: ${reason ?? ""}`}</span>
  );
}

function OfServer({ viewer, nodes, limited, paused, readReplica }: Data) {
  const versions = [...new Set(nodes.nodes.map((node) => node.version))];
  const slots = nodes.nodes.reduce((sum, node) => sum + node.slots, 0);
  return (
    <Facts
      entries={[
        ["You are", <a href="/account">{`${viewer.name} (${words(viewer.role)})`}</a>],
        ["Version", versions.length > 1 ? `${versions.join(", ")}: update the others, too` : (versions[0] ?? "–")],
        ["Nodes", <a href="/nodes">{capped(nodes.totalCount)} active</a>],
        ["Slots", `${plural(slots, "run")} at once on all nodes`],
        [
          "Group limits",
          limited.totalCount === 0 ? (
            "none"
          ) : (
            <a href="/groups?state=limited">{cappedPlural(limited.totalCount, "group")} limited</a>
          ),
        ],
        [
          "Paused groups",
          paused.totalCount === 0 ? (
            "none"
          ) : (
            <a href="/groups?state=paused">{cappedPlural(paused.totalCount, "group")}</a>
          ),
        ],
        ...(readReplica === null ? [] : [["Read replica", <Replica {...readReplica} />] as const]),
      ]}
    />
  );
}

/** What there is to read at this server itself. */
function Documents() {
  return (
    <Section title="Documents">
      <Facts
        entries={[
          ["API", <a href="/graphiql">explorer with reference and examples</a>],
          [
            "Schema",
            <a href="/schema.graphql" data-external>
              /schema.graphql
            </a>,
          ],
          [
            "Keys and words",
            <>
              press <kbd>?</kbd> on any page
            </>,
          ],
          [
            "Command line",
            <>
              <code>cronograph --help</code>, and <code>--help</code> after each command
            </>,
          ],
        ]}
      />
    </Section>
  );
}

function Retention({ task, retention }: Pick<Data, "task" | "retention">) {
  const { seconds, maxPerTask, groups, jobs, archive } = retention;
  return (
    <Facts
      entries={[
        ["History", wholeDuration(seconds)],
        [
          "Of each task",
          maxPerTask === null ? "any number of executions" : `at most ${plural(maxPerTask, "execution")}`,
        ],
        ...groups.map(
          ({ name, seconds }) => [`Group ${name}`, <a href={paths.group(name)}>{wholeDuration(seconds)}</a>] as const,
        ),
        ...jobs.map(
          ({ name, seconds }) => [`Job ${name}`, <a href={paths.job(name)}>{wholeDuration(seconds)}</a>] as const,
        ),
        [
          "Archive",
          archive === null ? (
            "none: what is deleted is gone"
          ) : (
            <>
              <Name text={archive.location} />
              <br />
              <span class="dim cell-sub">
                what ended before <Time at={archive.completeUntilAt} /> is there; <code>cronograph log --archive</code>{" "}
                reads it
              </span>
            </>
          ),
        ],
        ["Pruned by", task === null ? "no task: everything is kept" : <a href={paths.task(task.name)}>{task.name}</a>],
      ]}
    />
  );
}

/** What a task of that name cleans up: `cleanup_expired_sessions` sessions. */
function cleaned(name: string): string {
  const what = name.replace(/^(cleanup_expired|prune)_/, "").replaceAll("_", " ");
  return what.charAt(0).toUpperCase() + what.slice(1);
}

function CleanUp({ cleanups }: Pick<Data, "cleanups">) {
  if (cleanups.nodes.length === 0) return <p class="panel-body">No task of this server deletes old history.</p>;
  return (
    <Facts
      entries={cleanups.nodes.map(({ name, pausedAt, nextExecutionAt, schedule }) => [
        cleaned(name),
        <>
          <a href={paths.task(name)}>
            <Name text={name} />
          </a>
          <br />
          {schedule.humanized} <span class="zone-tag">{schedule.timezone}</span>{" "}
          <span class="dim cell-sub">
            {pausedAt !== null ? (
              "paused"
            ) : nextExecutionAt === null ? (
              "no next time"
            ) : (
              <>
                next <Time at={nextExecutionAt} />
              </>
            )}
          </span>
        </>,
      ])}
    />
  );
}

/** A panel of what the server says. */
function Said({
  title,
  data,
  children,
}: {
  title: string;
  data: Data | null;
  children: (data: Data) => ComponentChildren;
}) {
  return <Section title={title}>{data === null ? <Skeleton rows={4} /> : children(data)}</Section>;
}

export function Settings() {
  const { state, error, reload } = useLive("settings", {
    document: SettingsDocument,
    variables: () => ({}),
    init: (data) => data,
    outdates: ({ kind }) => kind.startsWith("NODE_") || kind.startsWith("TASK_") || kind === "GROUP_UPDATED",
  });
  useEffect(() => setTitle("Settings"), []);
  return (
    <>
      <PageHead title="Settings" />
      {error !== null && <ErrorBox error={error} retry={reload} />}
      <div class="columns">
        <div class="stack">
          <OfBrowser />
          <Documents />
          <Said title="What is kept" data={state}>
            {(data) => <Retention {...data} />}
          </Said>
        </div>
        <div class="stack">
          <Said title="This server" data={state}>
            {(data) => <OfServer {...data} />}
          </Said>
          <Said title="Clean-up" data={state}>
            {(data) => <CleanUp cleanups={data.cleanups} />}
          </Said>
        </div>
      </div>
    </>
  );
}
