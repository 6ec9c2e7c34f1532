import { useEffect, useState } from "preact/hooks";
import { Dialog } from "../components/dialog";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { Field, TextInput } from "../components/field";
import { ClearFilters, FilterBar, SelectFilter, TextFilter } from "../components/filters";
import { Icon } from "../components/icon";
import { Pager } from "../components/pager";
import { PauseDialog } from "../components/pause-dialog";
import { PageHead } from "../components/section";
import { Status } from "../components/status";
import { GroupRowFragment, type GroupRow } from "../graphql/fragments";
import { graphql } from "../graphql/tada";
import { capped } from "../lib/format";
import { paths } from "../lib/paths";
import { wholeDuration } from "../lib/time";
import { useLive } from "../live/use-live";
import { limitGroup, pauseGroup, resumeGroup } from "../services/operations";
import { searchParams } from "../state/route";
import { setTitle } from "../state/title";

const GroupsDocument = graphql(
  `
  query GroupsPage($first: Int!, $after: String, $filter: GroupFilter) {
    asOf
    serverTime
    groups(first: $first, after: $after, filter: $filter) {
      nodes { ...GroupRow }
      pageInfo { hasNextPage endCursor }
      totalCount
    }
  }
`,
  [GroupRowFragment],
);

const PAGE = 100;
const FILTERS = ["q", "state"];

interface State {
  readonly groups: readonly GroupRow[];
  readonly end: string | null;
  readonly more: boolean;
  readonly total: number;
}

function groupFilter(params: URLSearchParams) {
  const [q, state] = [params.get("q") ?? "", params.get("state") ?? ""];
  return {
    ...(q !== "" && { name: { contains: q } }),
    ...(state === "paused" && { paused: { eq: true } }),
    ...(state === "on" && { paused: { eq: false } }),
    ...(state === "limited" && { maxRunning: { isNull: false } }),
  };
}

type Asking = { readonly kind: "pause" | "limit"; readonly group: GroupRow } | null;

export function Groups() {
  const params = searchParams.value;
  const key = ["after", ...FILTERS].map((name) => params.get(name) ?? "").join("&");
  const { state, error, reload, patch } = useLive(`groups?${key}`, {
    document: GroupsDocument,
    variables: { first: PAGE, after: params.get("after"), filter: groupFilter(params) },
    init: ({ groups }): State => ({ groups: groups.nodes, end: groups.pageInfo.endCursor, more: groups.pageInfo.hasNextPage, total: groups.totalCount }),
    outdates: (event) => event.kind.startsWith("RUN_") || event.kind === "GROUP_UPDATED" || event.kind.startsWith("EXECUTION_"),
    every: 2_000,
  });
  const [asking, setAsking] = useState<Asking>(null);
  useEffect(() => setTitle("Groups"), []);
  const mark = (name: string, paused: boolean): void =>
    patch((before) => ({ ...before, groups: before.groups.map((group) => (group.name === name ? { ...group, paused } : group)) }));
  const filtered = FILTERS.some((name) => params.has(name));
  const resume = (name: string): void => {
    mark(name, false);
    void resumeGroup(name).then((done) => done || reload());
  };
  return (
    <>
      <PageHead title="Groups" />
      <p class="page-sub dim">Nodes serve groups in turn, by name. A group exists while a task or an unfinished run names it, or once it has a setting.</p>
      <FilterBar>
        <TextFilter name="q" value={params.get("q") ?? ""} label="Name" main />
        <SelectFilter name="state" value={params.get("state") ?? ""} label="State" all="Any state" options={[["on", "on"], ["paused", "paused"], ["limited", "limited"]]} />
        {filtered && <ClearFilters names={FILTERS} />}
        {state !== null && <span class="dim num filter-count">{capped(state.total)} {state.total === 1 ? "group" : "groups"}</span>}
      </FilterBar>
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {state === null && error === null && <Skeleton rows={6} />}
      {state !== null && (
        <section class={error === null ? "panel" : "panel dimmed"} aria-label="Groups">
          {state.groups.length === 0 ? (
            <Empty title={filtered ? "No group matches" : "No groups yet"}>{filtered && <ClearFilters names={FILTERS} />}</Empty>
          ) : (
            <table class="table groups">
              <thead>
                <tr>
                  <th class="col-name">Group</th>
                  <th class="col-num">Running</th>
                  <th class="col-num">Scheduled</th>
                  <th class="col-num">Waiting</th>
                  <th class="col-num">Stuck</th>
                  <th class="col-wait">Oldest wait</th>
                  <th class="col-num">Limit</th>
                  <th>State</th>
                  <th class="col-actions">
                    <span class="visually-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {state.groups.map((group) => (
                  <GroupLine key={group.name} group={group} ask={(kind) => setAsking({ kind, group })} resume={() => resume(group.name)} />
                ))}
              </tbody>
            </table>
          )}
          <Pager after={params.get("after") ?? ""} end={state.end} more={state.more} shown={state.groups.length} />
        </section>
      )}
      {asking?.kind === "pause" && (
        <PauseDialog
          name={`group ${asking.group.name}`}
          onClose={() => setAsking(null)}
          onPause={(reason) => {
            setAsking(null);
            mark(asking.group.name, true);
            void pauseGroup(asking.group.name, reason).then((done) => done || reload());
          }}
        />
      )}
      {asking?.kind === "limit" && <LimitDialog group={asking.group} onClose={() => setAsking(null)} />}
    </>
  );
}

function GroupLine({ group, ask, resume }: { group: GroupRow; ask: (kind: "pause" | "limit") => void; resume: () => void }) {
  return (
    <tr data-row tabIndex={-1}>
      <td class="cell-name">
        <a class="row-main" href={paths.group(group.name)} data-key="Enter">
          {group.name}
        </a>
      </td>
      <td data-label="Running" class="cell-num">{capped(group.running)}</td>
      <td data-label="Scheduled" class="cell-num">{capped(group.scheduled)}</td>
      <td data-label="Waiting" class="cell-num">{capped(group.waiting)}</td>
      <td data-label="Stuck" class="cell-num">{capped(group.stuck)}</td>
      <td data-label="Oldest wait">{group.oldestWait === null ? "–" : wholeDuration(group.oldestWait)}</td>
      <td data-label="Limit" class="cell-num">{group.maxRunning ?? "none"}</td>
      <td>
        {group.paused ? <Status name="PAUSED" /> : <Status name="ENABLED" />}
        {group.paused && group.pauseReason !== null && <span class="dim cell-sub">{group.pauseReason}</span>}
      </td>
      <td class="cell-actions">
        <span class="row-actions">
          {group.paused ? (
            <button type="button" class="icon-button" title="Resume" aria-label={`Resume group ${group.name}`} onClick={resume}>
              <Icon name="resume" />
            </button>
          ) : (
            <button type="button" class="icon-button" title="Pause" aria-label={`Pause group ${group.name}`} onClick={() => ask("pause")}>
              <Icon name="pause" />
            </button>
          )}
          <button type="button" class="icon-button" title="Set a limit" aria-label={`Set a limit for group ${group.name}`} onClick={() => ask("limit")}>
            <Icon name="settings" />
          </button>
        </span>
      </td>
    </tr>
  );
}

function LimitDialog({ group, onClose }: { group: GroupRow; onClose: () => void }) {
  const [text, setText] = useState(group.maxRunning === null ? "" : String(group.maxRunning));
  const valid = text.trim() === "" || /^[1-9]\d*$/.test(text.trim());
  return (
    <Dialog title={`Limit of group ${group.name}`} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!valid) return;
          void limitGroup(group.name, text.trim() === "" ? null : Number(text)).then((done) => done && onClose());
        }}
      >
        <Field label="Runs at once, on all nodes together" hint="Empty: no limit" error={valid ? undefined : "Must be a whole number of at least 1, or empty"}>
          <TextInput value={text} onChange={setText} invalid={!valid} />
        </Field>
        <div class="form-actions">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button primary">
            Set the limit
          </button>
        </div>
      </form>
    </Dialog>
  );
}
