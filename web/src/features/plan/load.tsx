import { useState } from "preact/hooks";
import { full, shortClock } from "../../lib/time";
import { serverNow } from "../../live/clock";
import { useLive } from "../../live/use-live";
import { zone, zoneWord } from "../../state/prefs";
import { searchParams, setParams } from "../../state/route";
import { ChartFrame } from "../../ui/chart-frame";
import { LivePart } from "../../ui/live-part";
import { Section } from "../../ui/section";
import { type PlannedLoad, usePlannedLoad } from "./load-document";
import { busiest, HOUR, hourOf, MINUTE, tasksWord } from "./model";
import { MoveDialog } from "./move-dialog";
import { Occurrences, PlanDocument } from "./occurrences";

const HOURS = 24;
const LEFT = 44;
const TOP = 16;
const ROW = 15;
/** Width of a minute where there is room. */
const CELL = 18;
const BUSIEST = 5;
/** Tasks of a minute that are listed; of one with more, the first. */
const LISTED = 100;

function day(now: number) {
  const from = hourOf(now, zone.value);
  return { from, to: from + HOURS * HOUR };
}

/** How many tasks are due in each minute of the next day, the busiest minutes, and a quieter one for each task. */
export function DayLoad({ filter }: { filter: Record<string, unknown> | null }) {
  const live = usePlannedLoad("MINUTE", filter, day);
  const chosen = Date.parse(searchParams.value.get("at") ?? "");
  return (
    <>
      <Section title="Next 24 hours">
        <LivePart live={live} rows={12}>
          {(load) => <Minutes load={load} chosen={chosen} />}
        </LivePart>
      </Section>
      {!Number.isNaN(chosen) && live.state !== null && (
        <DueThen key={chosen} at={chosen} load={live.state} filter={filter} />
      )}
    </>
  );
}

function choose(at: number): void {
  setParams({ at: new Date(at).toISOString() });
}

function Minutes({ load, chosen }: { load: PlannedLoad; chosen: number }) {
  const most = Math.max(1, ...load.points.map(({ tasks }) => tasks));
  const peaks = busiest(load.points, BUSIEST);
  return (
    <>
      <ChartFrame
        title={`Tasks that are due in each minute, ${zoneWord()}`}
        columns={["Minute", "Tasks", "Among them"]}
        rows={load.points.map(({ at, tasks, names }) => [
          full(Date.parse(at), zone.value).slice(0, 16),
          String(tasks),
          names.join(", "),
        ])}
        width={LEFT + 60 * CELL}
      >
        {(width) => <HeatMap load={load} most={most} chosen={chosen} cell={(width - LEFT) / 60} />}
      </ChartFrame>
      {peaks.length > 0 && (
        <p class="pad busiest">
          Busiest:{" "}
          {peaks.map(({ at, tasks }) => (
            <button key={at} type="button" class="button small num" onClick={() => choose(Date.parse(at))}>
              {shortClock(Date.parse(at), zone.value)}, {tasksWord(tasks)}
            </button>
          ))}
        </p>
      )}
    </>
  );
}

interface HeatMapProps {
  load: PlannedLoad;
  most: number;
  chosen: number;
  /** Width of a minute. */
  cell: number;
}

/** A row for each hour; the pointer chooses a minute, keys do by the buttons below it. */
function HeatMap({ load, most, chosen, cell }: HeatMapProps) {
  const height = TOP + HOURS * ROW;
  const least = Math.min(...load.points.map(({ tasks }) => tasks)) - 1;
  const place = (at: number): { x: number; y: number } => ({
    x: LEFT + (Math.floor((at - load.from) / MINUTE) % 60) * cell,
    y: TOP + Math.floor((at - load.from) / HOUR) * ROW,
  });
  return (
    <svg
      class="plot pickable"
      viewBox={`0 0 ${LEFT + 60 * cell} ${height}`}
      role="img"
      aria-label={`Planned load by minute: at most ${tasksWord(most)}`}
      onClick={({ target }) => {
        const at = target instanceof Element ? Number(target.closest("[data-at]")?.getAttribute("data-at")) : 0;
        if (at > 0) choose(at);
      }}
    >
      {[0, 10, 20, 30, 40, 50].map((minute) => (
        <text key={minute} class="axis" x={LEFT + minute * cell} y={11}>
          :{String(minute).padStart(2, "0")}
        </text>
      ))}
      {Array.from({ length: HOURS }, (_, hour) => {
        const known = Math.min(60, Math.max(0, Math.ceil((load.known - load.from - hour * HOUR) / MINUTE)));
        return (
          <g key={hour}>
            <text class="axis" x={0} y={TOP + hour * ROW + 11}>
              {shortClock(load.from + hour * HOUR, zone.value)}
            </text>
            <rect class="heat-empty" x={LEFT} y={TOP + hour * ROW} width={known * cell} height={ROW - 2} />
            {known === 0 && (
              <text class="axis" x={LEFT + 6} y={TOP + hour * ROW + 11}>
                not counted
              </text>
            )}
          </g>
        );
      })}
      {load.points.map(({ at, tasks, names }) => (
        <rect
          key={at}
          class="fill-active"
          data-at={Date.parse(at)}
          opacity={0.15 + 0.85 * ((tasks - least) / Math.max(1, most - least))}
          {...place(Date.parse(at))}
          width={Math.max(1, cell - 1)}
          height={ROW - 2}
        >
          <title>{`${full(Date.parse(at), zone.value).slice(0, 16)}: ${tasksWord(tasks)}${names.length === 0 ? "" : `, such as ${names.join(", ")}`}`}</title>
        </rect>
      ))}
      {chosen >= load.from && chosen < load.to && (
        <rect class="heat-chosen" {...place(chosen)} width={Math.max(2, cell - 1)} height={ROW - 2} />
      )}
    </svg>
  );
}

interface DueThenProps {
  at: number;
  load: PlannedLoad;
  filter: Record<string, unknown> | null;
}

/** The tasks of one minute, each with a way to a quieter one. */
function DueThen({ at, load, filter }: DueThenProps) {
  const [moving, setMoving] = useState<string | null>(null);
  const live = useLive(`due${JSON.stringify([at, filter])}`, {
    document: PlanDocument,
    variables: () => ({
      from: new Date(at).toISOString(),
      to: new Date(at + MINUTE).toISOString(),
      apart: 60,
      first: LISTED,
      after: null,
      filter,
    }),
    init: ({ upcoming }) => ({ rows: upcoming.nodes, more: upcoming.pageInfo.hasNextPage }),
    outdates: (event) => event.kind.startsWith("TASK_"),
    expires: () => (at > serverNow() ? at + MINUTE : null),
    every: 2_000,
  });
  return (
    <Section title={`Due at ${shortClock(at, zone.value)}`}>
      <LivePart live={live} rows={4}>
        {({ rows, more }) => (
          <>
            {rows.length === 0 && <p class="pad dim">Nothing is due in this minute any more.</p>}
            <Occurrences rows={rows} move={setMoving} />
            {more && <p class="pad dim">The first {LISTED}; a filter shows others.</p>}
          </>
        )}
      </LivePart>
      {moving !== null && <MoveDialog name={moving} points={load.points} onClose={() => setMoving(null)} />}
    </Section>
  );
}
