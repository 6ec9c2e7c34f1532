import { useMemo } from "preact/hooks";
import { integer, plural } from "../../lib/format";
import { paths } from "../../lib/paths";
import { statusView } from "../../lib/status";
import { place } from "../../state/route";
import { Status } from "../../ui/status";
import { boxState, type FlowBox, sizeOf } from "./flow-graph";
import { BOX, layoutOf, type Point } from "./flow-layout";
import { PanZoom } from "./pan-zoom";
import { inWords, StateBar } from "./state-bar";

/** Boxes from left to right, with lines from each to those that come after it; `chosen` is the job that is listed. */
export function FlowDrawing({ boxes, chosen }: { boxes: readonly FlowBox[]; chosen: string }) {
  // States change often, what comes after what hardly ever.
  const shape = JSON.stringify(boxes.map(({ id, after }) => [id, after]));
  const { width, height, corners, lines } = useMemo(() => layoutOf(boxes), [shape]);
  return (
    <PanZoom
      label="Runs in layers"
      width={width}
      height={height}
      map={boxes.map((box) => (
        <rect
          key={box.id}
          class={`fill-${statusView(boxState(box)).tone}`}
          {...corners.get(box.id)}
          width={BOX.width}
          height={BOX.height}
        />
      ))}
    >
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
            class={`flow-box flow-${statusView(boxState(box)).tone} ${box.run === null && box.id === chosen ? "chosen" : ""}`}
          >
            <BoxContent box={box} chosen={chosen} />
          </li>
        ))}
      </ol>
    </PanZoom>
  );
}

function placeOf(corner: Point | undefined): { readonly [name: string]: string } {
  const { x, y } = corner ?? { x: 0, y: 0 };
  return { left: `${x}px`, top: `${y}px`, width: `${BOX.width}px`, height: `${BOX.height}px` };
}

function BoxContent({ box, chosen }: { box: FlowBox; chosen: string }) {
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
  const said = inWords(box.counts);
  const failed = box.counts.get("FAILED") ?? 0;
  const list = `${place.value.path}?job=${encodeURIComponent(box.title)}`;
  return (
    <>
      <a
        class="flow-name"
        href={list}
        aria-current={box.id === chosen ? "true" : undefined}
        title={`${box.title}: ${said}`}
      >
        {box.title} <span class="dim">{plural(sizeOf(box), "run")}</span>
      </a>
      <span class="flow-box-state">
        {failed > 0 ? (
          <a href={`${list}&state=FAILED`} title={`The failed runs of ${box.title}`}>
            <Status name="FAILED" title={said} /> <span class="num">{integer(failed)}</span>
          </a>
        ) : (
          <Status name={boxState(box)} title={said} />
        )}
        <StateBar counts={box.counts} />
      </span>
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
