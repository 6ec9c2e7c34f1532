import { graphql } from "../../api/tada";
import { plural } from "../../lib/format";
import { serverNow } from "../../live/clock";
import { useLive } from "../../live/use-live";
import { type Hours, heatMap } from "../../model/chart";
import { zone, zoneWord } from "../../state/prefs";
import { ChartFrame } from "../../ui/chart-frame";
import { LivePart } from "../../ui/live-part";

const WEEKS = 4;
const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] as const;
/** Width of an hour where there is room. */
const CELL = 24;
const HEIGHT = 18;
const LEFT = 36;
const TOP = 16;

const HoursDocument = graphql(`
  query TaskHours($name: String!, $from: DateTime!) {
    asOf
    statistics(taskName: $name, from: $from, bucket: HOUR) {
      points { at count failures }
    }
  }
`);

/** When a task ran and failed in the last weeks, as the server counted it: weekday by hour. */
export function HeatMap({ task }: { task: string }) {
  const live = useLive(`hours/${task}`, {
    document: HoursDocument,
    variables: () => ({ name: task, from: new Date(serverNow() - WEEKS * 7 * 86_400_000).toISOString() }),
    init: (data): readonly Hours[] => data.statistics.points,
    outdates: (event) => event.taskName === task && event.kind === "EXECUTION_FINISHED",
    every: 30_000,
  });
  return (
    <LivePart live={live} rows={5}>
      {(hours) => <HourMap hours={hours} />}
    </LivePart>
  );
}

function HourMap({ hours }: { hours: readonly Hours[] }) {
  const cells = heatMap(hours, zone.value === "local");
  return (
    <ChartFrame
      title={`Starts of ${WEEKS} weeks by weekday and hour, ${zoneWord()}; failed ones red`}
      columns={["Day", "Hour", "Started", "Failed"]}
      rows={[...cells]
        .sort((left, right) => left.day * 24 + left.hour - right.day * 24 - right.hour)
        .map((cell) => [DAYS[cell.day] ?? "", `${cell.hour}:00`, String(cell.count), String(cell.failed)])}
      width={LEFT + 24 * CELL}
    >
      {(width) => <Cells cells={cells} cell={(width - LEFT) / 24} />}
    </ChartFrame>
  );
}

interface CellsProps {
  cells: ReturnType<typeof heatMap>;
  /** Width of an hour. */
  cell: number;
}

function Cells({ cells, cell: size }: CellsProps) {
  const most = Math.max(1, ...cells.map((cell) => cell.count));
  return (
    <svg
      class="plot"
      viewBox={`0 0 ${LEFT + 24 * size} ${TOP + 7 * 20}`}
      role="img"
      aria-label={`${plural(
        cells.reduce((sum, cell) => sum + cell.count, 0),
        "start",
      )} by weekday and hour`}
    >
      {[0, 6, 12, 18].map((hour) => (
        <text key={hour} class="axis" x={LEFT + hour * size} y={11}>
          {`${hour}:00`}
        </text>
      ))}
      {DAYS.map((day, index) => (
        <text key={day} class="axis" x={0} y={TOP + index * 20 + 14}>
          {day}
        </text>
      ))}
      {Array.from({ length: 168 }, (_, key) => (
        <rect
          key={key}
          class="heat-empty"
          x={LEFT + (key % 24) * size}
          y={TOP + Math.floor(key / 24) * 20}
          width={size - 2}
          height={HEIGHT}
          rx={2}
        />
      ))}
      {cells.map((cell) => {
        const [x, y] = [LEFT + cell.hour * size, TOP + cell.day * 20];
        const red = cell.failed === 0 ? 0 : Math.max(3, (cell.failed / cell.count) * HEIGHT);
        return (
          <g key={`${cell.day}-${cell.hour}`}>
            <rect
              class="fill-active"
              opacity={0.25 + 0.75 * (cell.count / most)}
              x={x}
              y={y}
              width={size - 2}
              height={HEIGHT}
              rx={2}
            />
            {red > 0 && <rect class="fill-bad" x={x} y={y + HEIGHT - red} width={size - 2} height={red} rx={2} />}
            <rect class="hit" x={x} y={y} width={size - 2} height={HEIGHT}>
              <title>{`${DAYS[cell.day] ?? ""} ${cell.hour}:00: ${plural(cell.count, "start")}, ${cell.failed} failed`}</title>
            </rect>
          </g>
        );
      })}
    </svg>
  );
}
