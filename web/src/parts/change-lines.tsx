import { integer } from "../lib/format";
import type { ChangeLine } from "../model/revisions";

interface ChangeLinesProps {
  lines: readonly ChangeLine[];
  /** So many are shown, and the others folded away. */
  most?: number;
}

/** Fields that changed, a line each: what they were and what they became. */
export function ChangeLines({ lines, most = lines.length }: ChangeLinesProps) {
  const others = lines.slice(most);
  return (
    <>
      <Lines lines={lines.slice(0, most)} />
      {others.length > 0 && (
        <details class="change-more">
          <summary>{integer(others.length)} more</summary>
          <Lines lines={others} />
        </details>
      )}
    </>
  );
}

function Lines({ lines }: { lines: readonly ChangeLine[] }) {
  return (
    <ul class="change-lines">
      {lines.map(({ label, before, after }) => (
        <li key={label}>
          <span class="dim">{label}: </span>
          {before !== null && <code title={before}>{before}</code>}
          {before !== null && after !== null && (
            <>
              <span aria-hidden="true"> → </span>
              <span class="visually-hidden"> became </span>
            </>
          )}
          {after !== null && <code title={after}>{after}</code>}
        </li>
      ))}
    </ul>
  );
}
