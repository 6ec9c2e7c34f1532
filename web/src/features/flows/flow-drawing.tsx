import { useMemo } from "preact/hooks";
import { plural, words } from "../../lib/format";
import { paths } from "../../lib/paths";
import { statusView } from "../../lib/status";
import { Status } from "../../ui/status";
import { boxState, type FlowBox, sizeOf } from "./flow-graph";
import { BOX, layoutOf, type Point } from "./flow-layout";

/** Boxes from left to right, with lines from each to those that come after it. */
export function FlowDrawing({ boxes }: { boxes: readonly FlowBox[] }) {
  // States change often, what comes after what hardly ever.
  const shape = JSON.stringify(boxes.map(({ id, after }) => [id, after]));
  const { width, height, corners, lines } = useMemo(() => layoutOf(boxes), [shape]);
  return (
    <div class="flow-scroll" tabIndex={0} role="group" aria-label="Runs in layers">
      <div class="flow-drawing" style={{ width: `${width}px`, height: `${height}px` }}>
        <svg width={width} height={height} aria-hidden="true">
          {lines.map(({ from, to, points }) => (
            <path key={`${from} ${to}`} class="flow-edge" d={curve(points)} />
          ))}
        </svg>
        <ol>
          {boxes.map((box) => (
            <li
              key={box.id}
              style={placeOf(corners.get(box.id))}
              class={`flow-box flow-${statusView(boxState(box)).tone}`}
            >
              <BoxContent box={box} />
            </li>
          ))}
        </ol>
      </div>
    </div>
  );
}

function placeOf(corner: Point | undefined): { readonly [name: string]: string } {
  const { x, y } = corner ?? { x: 0, y: 0 };
  return { left: `${x}px`, top: `${y}px`, width: `${BOX.width}px`, height: `${BOX.height}px` };
}

function BoxContent({ box }: { box: FlowBox }) {
  const first = box.run;
  if (first !== null) {
    return (
      <>
        <a class="flow-name" href={paths.run(first.id)} title={`${box.title}: run ${first.id} of ${first.jobName}`}>
          {box.title} {box.title !== first.jobName && <span class="dim">{first.jobName}</span>}
        </a>
        <Status name={first.state} />
      </>
    );
  }
  const said = [...box.counts].map(([state, count]) => `${count} ${words(state)}`).join(", ");
  return (
    <>
      <span class="flow-name" title={`${box.title}: ${said}`}>
        {box.title} <span class="dim">{plural(sizeOf(box), "run")}</span>
      </span>
      <Status name={boxState(box)} title={said} />
    </>
  );
}

/** A line that bends at its points without corners. */
function curve(points: readonly Point[]): string {
  const bends = points.slice(1, -1).map((point, index) => {
    const next = points[index + 2] ?? point;
    return `Q${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}`;
  });
  const [first, last] = [points[0], points[points.length - 1]];
  return first === undefined || last === undefined ? "" : `M${first.x} ${first.y}${bends.join("")}L${last.x} ${last.y}`;
}
