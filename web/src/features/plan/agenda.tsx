import { full, zoneName } from "../../lib/time";
import { serverNow } from "../../live/clock";
import { useLive } from "../../live/use-live";
import { zone } from "../../state/prefs";
import { searchParams, setParams } from "../../state/route";
import { Empty } from "../../ui/feedback";
import { LivePart } from "../../ui/live-part";
import { Pager } from "../../ui/pager";
import { Section } from "../../ui/section";
import { Occurrences, PlanDocument } from "./occurrences";

const PAGE = 100;
/** Days that the agenda looks ahead. */
const AHEAD = 31;
/** A task that comes more often is shown once in so many seconds, unless all are asked for. */
const APART = 86_400;
/** What has come due leaves a moment later. */
const SETTLES = 400;

/** What comes next, by the day. */
export function Agenda({ filter }: { filter: Record<string, unknown> | null }) {
  const params = searchParams.value;
  const [after, from, to] = [params.get("after"), instant(params.get("from")), instant(params.get("to"))];
  const every = params.has("every") || from !== null;
  const live = useLive(`agenda${JSON.stringify([filter, after, from, to, every])}`, {
    document: PlanDocument,
    variables: () => ({
      from,
      to: to ?? new Date(serverNow() + AHEAD * 86_400_000).toISOString(),
      apart: every ? null : APART,
      first: PAGE,
      after,
      filter,
    }),
    init: ({ upcoming }) => ({ rows: upcoming.nodes, ...upcoming.pageInfo }),
    outdates: (event) => event.kind.startsWith("TASK_"),
    expires: ({ rows }) => {
      const [first] = rows;
      return first === undefined || after !== null
        ? null
        : Math.max(serverNow(), Date.parse(first.effectiveAt)) + SETTLES;
    },
    every: 2_000,
  });
  return (
    <Section
      title={from === null ? "What comes next" : `From ${written(from)}${to === null ? "" : ` to ${written(to)}`}`}
      aside={
        from === null ? (
          <label class="agenda-every">
            <input
              type="checkbox"
              checked={every}
              onChange={() => setParams({ every: every ? null : "1", after: null })}
            />{" "}
            Every occurrence
          </label>
        ) : (
          <button type="button" class="button small" onClick={() => setParams({ from: null, to: null, after: null })}>
            From now on
          </button>
        )
      }
    >
      <LivePart live={live} rows={10}>
        {({ rows, endCursor, hasNextPage }) => (
          <>
            {rows.length === 0 ? (
              <Empty title="Nothing is planned">
                <p class="dim">Tasks that are on and have a next time show here.</p>
                <a class="button" href="/tasks?new=1">
                  New task
                </a>
              </Empty>
            ) : (
              <Occurrences rows={rows} />
            )}
            <Pager after={after ?? ""} end={endCursor} more={hasNextPage} shown={rows.length} />
          </>
        )}
      </LivePart>
    </Section>
  );
}

/** A time of the address, if it is one. */
function instant(text: string | null): string | null {
  return text !== null && !Number.isNaN(Date.parse(text)) ? new Date(text).toISOString() : null;
}

function written(at: string): string {
  const time = Date.parse(at);
  return `${full(time, zone.value).slice(0, 16)} ${zoneName(time, zone.value)}`;
}
