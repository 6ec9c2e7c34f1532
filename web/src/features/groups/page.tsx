import { useEffect, useMemo, useState } from "preact/hooks";
import { GroupRowFragment, type GroupRow as SharedRow } from "../../api/fragments";
import { graphql } from "../../api/tada";
import { capped } from "../../lib/format";
import { groupLimits } from "../../lib/limits";
import { paths } from "../../lib/paths";
import { wholeDuration } from "../../lib/time";
import { setTitle } from "../../live/title";
import { tryRows, useLiveList } from "../../live/use-live-list";
import { Changes, PauseDialog } from "../../parts/dialogs";
import { ClearFilters } from "../../parts/filters";
import { ListTools } from "../../parts/list-tools";
import { limitGroup, pauseGroup, resumeGroup, type WhenFull } from "../../services/operations";
import { searchParams } from "../../state/route";
import { Action } from "../../ui/action";
import type { Column } from "../../ui/data-table";
import { Dialog } from "../../ui/dialog";
import { Empty } from "../../ui/feedback";
import { Field, Select, TextInput } from "../../ui/field";
import { Icon } from "../../ui/icon";
import { ListPanel } from "../../ui/list-panel";
import { Name } from "../../ui/name";
import { PageHead } from "../../ui/section";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";
import { AlarmsOf } from "../alarms/lazy";
import { SearchBar } from "../search/bar";
import { filtersOf, type Vocabulary } from "../search/model";

const GroupsDocument = graphql(
  `
  query GroupsPage($first: Int!, $after: String, $filter: GroupFilter) {
    asOf
    serverTime
    groups(first: $first, after: $after, filter: $filter) {
      nodes { ...GroupRow version }
      pageInfo { hasNextPage endCursor }
      totalCount
    }
  }
`,
  [GroupRowFragment],
);

const PAGE = 100;
const SEARCH: Vocabulary = {
  label: "Name",
  param: "q",
  terms: [
    {
      prefix: "state:",
      param: "state",
      label: "State",
      options: [
        ["on", "on"],
        ["paused", "paused"],
        ["limited", "limited"],
      ],
    },
  ],
};
const FILTERS = filtersOf(SEARCH);

function groupFilter(params: URLSearchParams) {
  const [q, state] = [params.get("q") ?? "", params.get("state") ?? ""];
  return {
    ...(q !== "" && { name: { contains: q } }),
    ...(state === "paused" && { isPaused: { eq: true } }),
    ...(state === "on" && { isPaused: { eq: false } }),
    ...(state === "limited" && { isLimited: { eq: true } }),
  };
}

type GroupRow = SharedRow & { readonly version: number };
type Kind = "pause" | "limit" | "alarms" | "changes";
type Asking = { readonly kind: Kind; readonly group: GroupRow } | null;

interface GroupContext {
  ask(kind: Kind, group: GroupRow): void;
  resume(group: GroupRow): void;
}

const count = (
  key: string,
  title: string,
  rank: number,
  of: (group: GroupRow) => number,
): Column<GroupRow, GroupContext> => ({
  key,
  title,
  width: 96,
  rank,
  card: "pair",
  number: true,
  cell: (group) => <span class="num">{capped(of(group))}</span>,
});

const COLUMNS: readonly Column<GroupRow, GroupContext>[] = [
  {
    key: "name",
    title: "Group",
    width: 180,
    grow: 2,
    rank: 0,
    card: "title",
    name: ({ name }) => name,
    cell: (group) => (
      <a class="row-main" href={paths.group(group.name)} data-key="Enter">
        <Name text={group.name} />
      </a>
    ),
  },
  count("running", "Running", 2, (group) => group.running),
  count("scheduled", "Scheduled", 5, (group) => group.scheduled),
  count("waiting", "Waiting", 1, (group) => group.waiting),
  count("stuck", "Retrying", 3, (group) => group.stuck),
  count("suspended", "Suspended", 5, (group) => group.suspended),
  {
    key: "wait",
    title: "Oldest wait",
    width: 116,
    rank: 4,
    card: "pair",
    number: true,
    cell: (group) => (group.oldestWait === null ? "–" : wholeDuration(group.oldestWait)),
  },
  {
    key: "limits",
    title: "Limits",
    width: 176,
    grow: 1,
    rank: 3,
    card: "wide",
    cell: (group) => <Limits group={group} />,
  },
  {
    key: "state",
    title: "State",
    width: 130,
    grow: 1,
    rank: 0,
    card: "pair",
    bare: true,
    cell: (group) => (
      <>
        <Status name={group.isPaused ? "PAUSED" : "ENABLED"} />{" "}
        {group.isPaused && group.resumeAt !== null && (
          <span class="dim cell-sub">
            until <Time at={group.resumeAt} />
          </span>
        )}{" "}
        {group.isPaused && group.pauseReason !== null && (
          <span class="dim cell-sub cell-reason" title={group.pauseReason}>
            {group.pauseReason}
          </span>
        )}
      </>
    ),
  },
  {
    key: "actions",
    title: "Actions",
    untitled: true,
    width: 156,
    rank: 0,
    card: "actions",
    cell: (group, context) => <GroupButtons group={group} context={context} />,
  },
];

/** A line for each of the group's limits. */
function Limits({ group }: { group: GroupRow }) {
  const lines = groupLimits(group);
  if (lines.length === 0) return <span class="dim">none</span>;
  return (
    <>
      {lines.map((line) => (
        <span key={line} class="num cell-sub">
          {line}
        </span>
      ))}
    </>
  );
}

function GroupButtons({ group, context }: { group: GroupRow; context: GroupContext }) {
  return (
    <span class="row-actions">
      {group.isPaused ? (
        <Action
          class="icon-button"
          title="Resume"
          aria-label={`Resume group ${group.name}`}
          onClick={() => context.resume(group)}
        >
          <Icon name="resume" />
        </Action>
      ) : (
        <Action
          class="icon-button"
          title="Pause"
          aria-label={`Pause group ${group.name}`}
          onClick={() => context.ask("pause", group)}
        >
          <Icon name="pause" />
        </Action>
      )}
      <Action
        class="icon-button"
        title="Set limits"
        aria-label={`Set limits for group ${group.name}`}
        onClick={() => context.ask("limit", group)}
      >
        <Icon name="settings" />
      </Action>
      <button
        type="button"
        class="icon-button"
        title="Alarms"
        aria-label={`Alarms of group ${group.name}`}
        onClick={() => context.ask("alarms", group)}
      >
        <Icon name="bell" />
      </button>
      <button
        type="button"
        class="icon-button"
        title="What changed"
        aria-label={`What changed of group ${group.name}`}
        onClick={() => context.ask("changes", group)}
      >
        <Icon name="audit" />
      </button>
    </span>
  );
}

/** Depths change with every run, so the page asks whenever one does; what it shows is never put together here. */
function useGroups(params: URLSearchParams, after: string | null, key: string) {
  return useLiveList(key, {
    document: GroupsDocument,
    variables: () => ({ first: PAGE, after, filter: groupFilter(params) }),
    page: ({ groups }) => groups,
    id: (group) => group.name,
    matches: () => null,
    order: () => null,
    first: after === null,
    size: PAGE,
    outdates: (event) =>
      event.kind.startsWith("RUN_") || event.kind === "GROUP_UPDATED" || event.kind.startsWith("EXECUTION_"),
    every: 1_500,
  });
}

export function Groups() {
  const params = searchParams.value;
  const after = params.get("after");
  const key = `groups?${["after", ...FILTERS].map((name) => params.get(name) ?? "").join("&")}`;
  const list = useGroups(params, after, key);
  const { state } = list;
  const [asking, setAsking] = useState<Asking>(null);
  useEffect(() => setTitle("Groups"), []);
  const tryPause = (name: string, isPaused: boolean, act: () => Promise<boolean>): void =>
    void tryRows(list, (group) => group.name === name, { isPaused }, act);
  const filtered = FILTERS.some((name) => params.has(name));
  const context = useMemo(
    (): GroupContext => ({
      ask: (kind, group) => setAsking({ kind, group }),
      resume: ({ name, pauseReason }) => {
        tryPause(name, false, () => resumeGroup(name, pauseReason ?? ""));
      },
    }),
    [key],
  );
  return (
    <>
      <PageHead title="Groups" />
      <p class="page-sub dim">
        Nodes serve groups in turn, by name. A group exists while something uses it or is set for it.
      </p>
      <SearchBar vocabulary={SEARCH}>
        {state?.total != null && (
          <span class="dim num filter-count">
            {capped(state.total)} {state.total === 1 ? "group" : "groups"}
          </span>
        )}
        <ListTools table="groups" columns={COLUMNS} rows={state?.rows ?? null} />
      </SearchBar>
      <ListPanel
        label="Groups"
        id="groups"
        tall
        after={after ?? ""}
        page={key}
        list={list}
        columns={COLUMNS}
        context={context}
        rowId={(group) => group.name}
        empty={
          <Empty title={filtered ? "No group matches" : "No groups yet"}>
            {filtered && <ClearFilters names={FILTERS} />}
          </Empty>
        }
      />
      {asking?.kind === "pause" && (
        <PauseDialog
          name={`group ${asking.group.name}`}
          onClose={() => setAsking(null)}
          onPause={(reason, resumeAt) => {
            setAsking(null);
            tryPause(asking.group.name, true, () => pauseGroup(asking.group.name, reason, resumeAt));
          }}
        />
      )}
      {asking?.kind === "alarms" && (
        <Dialog title={`Alarms of group ${asking.group.name}`} wide onClose={() => setAsking(null)} askBefore={false}>
          <AlarmsOf watched={[{ kind: "GROUP", name: asking.group.name }]} />
        </Dialog>
      )}
      {asking?.kind === "changes" && (
        <Dialog title={`What changed of group ${asking.group.name}`} wide onClose={() => setAsking(null)}>
          <Changes
            filter={{ kind: { eq: "GROUP" }, name: { eq: asking.group.name } }}
            ofOne
            versionOf={() => state?.rows.find(({ name }) => name === asking.group.name)?.version ?? null}
          />
        </Dialog>
      )}
      {asking?.kind === "limit" && <LimitDialog group={asking.group} onClose={() => setAsking(null)} />}
    </>
  );
}

type LimitField = "maxRunning" | "limit" | "per" | "burst" | "maxWaitLow" | "cap" | "keep";

const WHOLE = /^[1-9]\d*$/;
const SECONDS = /^\d+(\.\d+)?$/;
/** Of each field of the form its label, what an empty one means, and what may stand there. */
const LIMIT_FIELDS: readonly (readonly [LimitField, string, string, RegExp, string])[] = [
  [
    "maxRunning",
    "Runs at once, on all nodes together",
    "Empty: no limit",
    WHOLE,
    "Must be a whole number of at least 1, or empty",
  ],
  [
    "limit",
    "Starts, on all nodes together",
    "Empty: any number",
    WHOLE,
    "Must be a whole number of at least 1, or empty",
  ],
  ["per", "… within", "Empty: 1", SECONDS, "Must be a number of seconds, or empty"],
  [
    "burst",
    "… and at once after a pause",
    "Empty: a twentieth of the starts, at least 1",
    WHOLE,
    "Must be a whole number of at least 1, or empty",
  ],
  [
    "maxWaitLow",
    "Low priority waits behind high for at most",
    "Empty: no bound",
    SECONDS,
    "Must be a number of seconds, or empty",
  ],
  ["cap", "Runs that wait", "Empty: any number", WHOLE, "Must be a whole number of at least 1, or empty"],
  [
    "keep",
    "The history of its finished runs is kept for",
    "Empty: as their jobs say, or else the task prune_history",
    SECONDS,
    "Must be a number of days, or empty",
  ],
];
/** What belongs together. */
const LIMIT_SECTIONS: readonly (readonly [string, readonly LimitField[]])[] = [
  ["At the same time", ["maxRunning"]],
  ["Starts", ["limit", "per", "burst"]],
  ["Waiting", ["cap", "maxWaitLow"]],
  ["History", ["keep"]],
];
const LIMIT_UNITS: Readonly<Record<LimitField, string>> = {
  maxRunning: "runs",
  limit: "starts",
  per: "seconds",
  burst: "starts",
  maxWaitLow: "seconds",
  cap: "runs",
  keep: "days",
};
const DAY = 86_400;
const WHEN_FULL: readonly (readonly [WhenFull, string])[] = [
  ["REFUSE", "refuse the new run"],
  ["DROP_OLDEST", "skip the oldest run"],
  ["DROP_NEWEST", "skip the new run"],
];

function LimitDialog({ group, onClose }: { group: GroupRow; onClose: () => void }) {
  const shown = (value: number | null | undefined): string => (value == null ? "" : String(value));
  const [texts, setTexts] = useState<Record<LimitField, string>>({
    maxRunning: shown(group.maxRunning),
    limit: shown(group.rate?.limit),
    per: shown(group.rate?.per),
    burst: shown(group.rate?.burst),
    maxWaitLow: shown(group.maxWaitLow),
    cap: shown(group.cap?.limit),
    keep: shown(group.keep === null ? null : group.keep / DAY),
  });
  const [whenFull, setWhenFull] = useState<WhenFull>(group.cap?.whenFull ?? "REFUSE");
  const number = (field: LimitField): number | null => (texts[field].trim() === "" ? null : Number(texts[field]));
  const valid = LIMIT_FIELDS.every(([field, , , form]) => texts[field].trim() === "" || form.test(texts[field].trim()));
  const [limit, most, days] = [number("limit"), number("cap"), number("keep")];
  return (
    <Dialog title={`Limits of group ${group.name}`} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!valid) return;
          const rate = limit === null ? null : { limit, per: number("per") ?? 1, burst: number("burst") };
          const limits = {
            maxRunning: number("maxRunning"),
            rate,
            maxWaitLow: number("maxWaitLow"),
            cap: most === null ? null : { limit: most, whenFull },
            keep: days === null ? null : days * DAY,
          };
          void limitGroup(group.name, limits).then((done) => done && onClose());
        }}
      >
        {LIMIT_SECTIONS.map(([title, fields]) => (
          <fieldset key={title} class="args-object">
            <legend class="field-label">{title}</legend>
            <div class="form-grid">
              {LIMIT_FIELDS.filter(([field]) => fields.includes(field)).map(([field, label, hint, form, fault]) => {
                const right = texts[field].trim() === "" || form.test(texts[field].trim());
                return (
                  <Field key={field} label={label} hint={hint} error={right ? undefined : fault}>
                    <span class="with-unit">
                      <TextInput
                        value={texts[field]}
                        onChange={(text) => setTexts({ ...texts, [field]: text })}
                        invalid={!right}
                        inputMode={form === WHOLE ? "numeric" : "decimal"}
                      />
                      {LIMIT_UNITS[field]}
                    </span>
                  </Field>
                );
              })}
              {fields.includes("cap") && most !== null && (
                <Field label="… and when one more comes">
                  <Select value={whenFull} onChange={(value) => setWhenFull(value as WhenFull)} options={WHEN_FULL} />
                </Field>
              )}
            </div>
          </fieldset>
        ))}
        <div class="form-actions">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <Action type="submit" class="button primary">
            Set the limits
          </Action>
        </div>
      </form>
    </Dialog>
  );
}
