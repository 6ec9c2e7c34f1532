import type { SkippedRow } from "../graphql/skipped";
import { integer } from "../lib/format";
import { policyText, skipReason } from "../lib/skip-reasons";
import { Empty } from "./feedback";
import { Time } from "./time";

/** Occurrences that became no run, and what decided it. */
export function SkippedTable({ skipped }: { skipped: readonly SkippedRow[] }) {
  if (skipped.length === 0) {
    return (
      <Empty title="Nothing was skipped">
        <p class="dim">Every occurrence became a run. Those that do not show here with their reason.</p>
      </Empty>
    );
  }
  return (
    <table class="table skipped">
      <thead>
        <tr>
          <th>Why</th>
          <th class="col-num">Times</th>
          <th class="col-time">First due</th>
          <th class="col-time">Last due</th>
          <th>Decided by</th>
        </tr>
      </thead>
      <tbody>
        {skipped.map((row) => (
          <tr key={row.id}>
            <td>
              <span class="status tone-idle">{row.reason.toLowerCase()}</span> <span class="dim">{skipReason(row.reason)}</span>
            </td>
            <td data-label="Times" class="cell-num">
              {integer(row.count)}
            </td>
            <td data-label="First due">
              <Time at={row.firstScheduledFor} form="moment" />
            </td>
            <td data-label="Last due">
              <Time at={row.lastScheduledFor} form="moment" />
            </td>
            <td class="dim">
              {policyText(row.policy)}
              {row.node !== null && ` on ${row.node}`}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
