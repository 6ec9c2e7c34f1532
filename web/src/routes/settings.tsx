import { useEffect } from "preact/hooks";
import { ErrorBox, Skeleton } from "../components/feedback";
import { Field, Select } from "../components/field";
import { PageHead, Section } from "../components/section";
import { Facts } from "../components/task-facts";
import { graphql } from "../graphql/tada";
import { capped, words } from "../lib/format";
import { paths } from "../lib/paths";
import { wholeDuration } from "../lib/time";
import { useLive } from "../live/use-live";
import { type Theme, theme, zone } from "../state/prefs";
import { setTitle } from "../state/title";

const SettingsDocument = graphql(`
  query SettingsPage {
    asOf
    serverTime
    viewer { name role }
    nodes(first: 200, filter: { state: { in: [ACTIVE, STALLED] } }) { nodes { version } totalCount }
    task(name: "prune_history") { name args schedule { humanized } }
    retention { seconds maxPerTask groups { name seconds } jobs { name seconds } }
  }
`);

interface Retention {
  readonly seconds: number;
  readonly maxPerTask: number | null;
  readonly groups: readonly { readonly name: string; readonly seconds: number }[];
  readonly jobs: readonly { readonly name: string; readonly seconds: number }[];
}

/** What holds for all, and for those groups and jobs that say something else. */
function Kept({ retention }: { retention: Retention }) {
  const { seconds, maxPerTask, groups, jobs } = retention;
  return (
    <>
      {wholeDuration(seconds)}
      {maxPerTask !== null && `, at most ${maxPerTask} executions of each task`}
      {groups.map((one) => (
        <span key={one.name} class="cell-sub">
          group <a href={paths.group(one.name)}>{one.name}</a>: {wholeDuration(one.seconds)}
        </span>
      ))}
      {jobs.map((one) => (
        <span key={one.name} class="cell-sub">
          job <a href={paths.job(one.name)}>{one.name}</a>: {wholeDuration(one.seconds)}
        </span>
      ))}
    </>
  );
}

export function Settings() {
  const { state, error, reload } = useLive("settings", { document: SettingsDocument, variables: () => ({}), init: (data) => data });
  useEffect(() => setTitle("Settings"), []);
  const versions = [...new Set(state?.nodes.nodes.map((node) => node.version) ?? [])];
  return (
    <>
      <PageHead title="Settings" />
      {error !== null && <ErrorBox error={error} retry={reload} />}
      <div class="columns">
        <Section title="This browser">
          <div class="panel-body form">
            <Field label="Theme">
              <Select value={theme.value} onChange={(value) => (theme.value = value as Theme)} options={[["auto", "as the system has it"], ["light", "light"], ["dark", "dark"]]} />
            </Field>
            <Field label="Times">
              <Select value={zone.value} onChange={(value) => (zone.value = value === "local" ? "local" : "utc")} options={[["utc", "UTC"], ["local", "local time"]]} />
            </Field>
          </div>
        </Section>
        <Section title="This server">
          {state === null ? (
            <Skeleton rows={4} />
          ) : (
            <Facts
              entries={[
                ["You are", <a href="/account">{`${state.viewer.name} (${words(state.viewer.role)})`}</a>],
                ["Version", versions.join(", ") || "–"],
                ["Nodes", <a href="/nodes">{capped(state.nodes.totalCount)} active</a>],
                [
                  "Retention",
                  state.task === null ? (
                    "no task prunes the history"
                  ) : (
                    <a href={paths.task(state.task.name)}>
                      {state.task.name}, {state.task.schedule.humanized}
                    </a>
                  ),
                ],
                ["History is kept", <Kept retention={state.retention} />],
                ["API", <a href="/graphiql">explorer</a>],
                ["Schema", <a href="/schema.graphql" data-external>/schema.graphql</a>],
              ]}
            />
          )}
        </Section>
      </div>
    </>
  );
}
