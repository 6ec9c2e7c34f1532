import type { ChangeLine } from "../model/revisions";

/** Fields that changed, a line each: what they were and what they became. */
export function ChangeLines({ lines }: { lines: readonly ChangeLine[] }) {
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
