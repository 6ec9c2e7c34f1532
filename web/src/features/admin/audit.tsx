import { useEffect } from "preact/hooks";
import { graphql, type ResultOf } from "../../api/tada";
import { serverNow } from "../../live/clock";
import { setTitle } from "../../live/title";
import { unannounced } from "../../live/unannounced";
import { useLive } from "../../live/use-live";
import { fieldsOf, linesOf } from "../../model/revisions";
import { ChangeLines } from "../../parts/change-lines";
import { ClearFilters } from "../../parts/filters";
import { ListTools } from "../../parts/list-tools";
import { searchParams } from "../../state/route";
import { type Column, DataTable } from "../../ui/data-table";
import { Empty, Skeleton } from "../../ui/feedback";
import { Name } from "../../ui/name";
import { Pager } from "../../ui/pager";
import { Refused } from "../../ui/refused";
import { PageHead } from "../../ui/section";
import { Time } from "../../ui/time";
import { SearchBar } from "../search/bar";
import type { Vocabulary } from "../search/model";
import { Permitted } from "./permitted";

const AuditDocument = graphql(`
  query AuditPage($first: Int!, $after: String, $filter: AuditFilter) {
    asOf
    serverTime
    auditLog(first: $first, after: $after, filter: $filter) {
      nodes { id at actor address action subject before after }
      pageInfo { hasNextPage endCursor }
    }
  }
`);

type Entry = ResultOf<typeof AuditDocument>["auditLog"]["nodes"][number];

const PAGE = 50;
const FILTERS = ["actor", "subject", "action", "since"] as const;
/** Families of entries, by how their action begins or what it holds. */
const KINDS: readonly (readonly [string, string])[] = [
  ["sign_in", "sign-ins"],
  ["account", "accounts"],
  ["token", "tokens"],
  ["passkey", "passkeys"],
  ["identity", "identities"],
  ["session", "sessions"],
  ["Task", "tasks"],
  ["Run", "runs"],
  ["Group", "groups"],
  ["Node", "nodes"],
];
const HOUR = 3_600_000;
const SINCE: readonly (readonly [string, string])[] = [
  ["1", "last hour"],
  ["24", "last day"],
  ["168", "last week"],
];
const SPANS = { param: "since", words: new Map(SINCE.map(([hours, word]) => [hours, word.replace("last", "Last")])) };

const SEARCH: Vocabulary = {
  label: "Who",
  param: "actor",
  terms: [
    { prefix: "subject:", param: "subject", label: "Of what" },
    { prefix: "what:", param: "action", label: "What", options: KINDS },
    { prefix: "since:", param: "since", label: "When", options: SINCE },
  ],
};

function auditFilter(params: URLSearchParams) {
  const [actor = "", subject = "", action = "", since = ""] = FILTERS.map((name) => params.get(name) ?? "");
  const hours = SINCE.some(([known]) => known === since) ? Number(since) : 0;
  return {
    ...(actor !== "" && { actor: { contains: actor } }),
    ...(subject !== "" && { subject: { contains: subject } }),
    ...(KINDS.some(([kind]) => kind === action) && { action: { contains: action } }),
    ...(hours > 0 && { at: { gte: new Date(serverNow() - hours * HOUR).toISOString() } }),
  };
}

function written(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What changed, field by field; values that are no fields stand as they are. */
function Change({ entry }: { entry: Entry }) {
  const { before, after } = entry;
  const changes = fieldsOf(before, after);
  return (
    <span class="audit-change">
      {changes === null ? (
        [before, after].map((value, place) => value !== null && <code key={place}>{written(value)}</code>)
      ) : (
        <ChangeLines lines={linesOf({ changes, isMade: before === null, isDeleted: after === null })} most={3} />
      )}
    </span>
  );
}

const COLUMNS: readonly Column<Entry>[] = [
  { key: "at", title: "When", width: 104, rank: 0, card: "pair", cell: (entry) => <Time at={entry.at} /> },
  {
    key: "actor",
    title: "Who",
    width: 120,
    grow: 1,
    rank: 0,
    card: "title",
    name: ({ actor }) => actor,
    cell: (entry) => <Name text={entry.actor} />,
  },
  {
    key: "action",
    title: "What",
    width: 150,
    grow: 1,
    rank: 0,
    card: "pair",
    cell: (entry) => <span class={entry.action === "sign_in.failed" ? "tone-warn" : ""}>{entry.action}</span>,
  },
  {
    key: "subject",
    title: "Of what",
    width: 120,
    grow: 1,
    rank: 1,
    card: "pair",
    cell: (entry) => (entry.subject === null ? "–" : <Name text={entry.subject} />),
  },
  {
    key: "address",
    title: "From",
    width: 130,
    rank: 3,
    card: "pair",
    cell: (entry) => <span class="dim">{entry.address ?? "–"}</span>,
  },
  {
    key: "change",
    title: "Change",
    width: 220,
    grow: 3,
    rank: 1,
    card: "wide",
    bare: true,
    cell: (entry) => <Change entry={entry} />,
  },
  {
    key: "id",
    title: "Number",
    width: 90,
    rank: 4,
    card: "pair",
    number: true,
    cell: (entry) => <span class="dim num">{entry.id}</span>,
  },
];

function AuditLog() {
  const params = searchParams.value;
  const after = params.get("after");
  const key = `audit?${["after", ...FILTERS].map((name) => params.get(name) ?? "").join("&")}`;
  const { state, error, reload } = useLive(key, {
    document: AuditDocument,
    variables: () => ({ first: PAGE, after, filter: auditFilter(params) }),
    init: (data) => data.auditLog,
    // Most entries come with an event; of those about accounts and sign-ins the feed does not tell.
    outdates: () => true,
    expires: () => (after === null ? unannounced() : null),
  });
  const filtered = FILTERS.some((name) => params.has(name));
  return (
    <>
      <PageHead title="Audit log" />
      <SearchBar vocabulary={SEARCH}>
        <ListTools table="audit" columns={COLUMNS} rows={state?.nodes ?? null} />
      </SearchBar>
      {error !== null && <Refused error={error} retry={reload} narrowing={{ rows: "entries", spans: SPANS }} />}
      {state === null ? (
        error === null && <Skeleton rows={10} />
      ) : (
        <section class="panel" aria-label="Audit log">
          {state.nodes.length === 0 ? (
            <Empty title={filtered ? "No entry matches" : "Nothing has been changed yet"}>
              {filtered && <ClearFilters names={FILTERS} />}
            </Empty>
          ) : (
            <DataTable
              id="audit"
              columns={COLUMNS}
              context={null}
              rows={state.nodes}
              page={key}
              rowId={(entry) => entry.id}
            />
          )}
          <Pager
            after={after ?? ""}
            end={state.pageInfo.endCursor}
            more={state.pageInfo.hasNextPage}
            shown={state.nodes.length}
          />
        </section>
      )}
    </>
  );
}

/** Who did what, for administrators. */
export function AuditPage() {
  useEffect(() => setTitle("Audit log"), []);
  return (
    <Permitted needs="ADMIN" title="Audit log">
      <AuditLog />
    </Permitted>
  );
}
