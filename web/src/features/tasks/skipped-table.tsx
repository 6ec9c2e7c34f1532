import type { SkippedRow } from "../../api/skipped";
import { integer } from "../../lib/format";
import { paths } from "../../lib/paths";
import { policyText, skipReason } from "../../lib/skip-reasons";
import { type Column, DataTable } from "../../ui/data-table";
import { Empty } from "../../ui/feedback";
import { Time } from "../../ui/time";

const COLUMNS: readonly Column<SkippedRow>[] = [
  {
    key: "why",
    title: "Why",
    width: 220,
    grow: 2,
    rank: 0,
    card: "title",
    cell: (row) => (
      <>
        <span class="status tone-idle">{row.reason.toLowerCase()}</span>{" "}
        <span class="dim">{skipReason(row.reason)}</span>
      </>
    ),
  },
  { key: "times", title: "Times", width: 84, rank: 0, card: "pair", number: true, cell: (row) => integer(row.count) },
  {
    key: "first",
    title: "First due",
    width: 136,
    rank: 2,
    card: "pair",
    cell: (row) => <Time at={row.firstScheduledFor} form="moment" />,
  },
  {
    key: "last",
    title: "Last due",
    width: 136,
    rank: 1,
    card: "pair",
    cell: (row) => <Time at={row.lastScheduledFor} form="moment" />,
  },
  {
    key: "run",
    title: "Run",
    width: 84,
    rank: 3,
    card: "pair",
    cell: (row) => (row.run === null ? "–" : <a href={paths.run(row.run.id)}>{row.run.id}</a>),
  },
  {
    key: "policy",
    title: "Decided by",
    width: 180,
    grow: 1,
    rank: 3,
    card: "wide",
    cell: (row) => (
      <span class="dim">
        {policyText(row.policy)}
        {row.node !== null && ` on ${row.node}`}
      </span>
    ),
  },
];

/** Occurrences that became no run, and what decided it. */
export function SkippedTable({ skipped }: { skipped: readonly SkippedRow[] }) {
  if (skipped.length === 0) {
    return (
      <Empty title="Nothing was skipped">
        <p class="dim">Every occurrence became a run. Those that do not show here with their reason.</p>
      </Empty>
    );
  }
  return <DataTable id="skipped" columns={COLUMNS} context={null} rows={skipped} rowId={(row) => row.id} />;
}
