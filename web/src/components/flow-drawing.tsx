import { paths } from "../lib/paths";
import { plural, words } from "../lib/format";
import { statusView } from "../lib/status";
import { boxState, type FlowBox, flowGraph, type FlowRun } from "../model/flow-graph";
import { Status } from "./status";

/** Pixels from box to box, and of a box itself. */
const STEP = { x: 220, y: 64 } as const;
const BOX = { width: 176, height: 50 } as const;

/** The runs of a flow in layers from left to right, with lines from each to those that come after it. */
export function FlowDrawing({ runs }: { runs: readonly FlowRun[] }) {
  const { boxes, edges, layers, rows } = flowGraph(runs);
  const size = { width: layers * STEP.x - (STEP.x - BOX.width), height: rows * STEP.y - (STEP.y - BOX.height) };
  return (
    <div class="flow-scroll" tabIndex={0} role="group" aria-label="Runs in layers">
      <div class="flow-drawing" style={{ width: `${size.width}px`, height: `${size.height}px` }}>
        <svg width={size.width} height={size.height} aria-hidden="true">
          {edges.map(([from, to]) => (
            <path key={`${from.id} ${to.id}`} class="flow-edge" d={curve(from, to)} />
          ))}
        </svg>
        <ol>
          {boxes.map((box) => (
            <li key={box.id} style={{ left: `${box.layer * STEP.x}px`, top: `${box.row * STEP.y}px`, width: `${BOX.width}px`, height: `${BOX.height}px` }} class={`flow-box flow-${statusView(boxState(box)).tone}`}>
              <BoxContent box={box} />
            </li>
          ))}
        </ol>
      </div>
    </div>
  );
}

function BoxContent({ box }: { box: FlowBox }) {
  const [first] = box.runs;
  if (box.runs.length === 1 && first !== undefined) {
    return (
      <>
        <a class="flow-name" href={paths.run(first.id)} title={`${box.title}: run ${first.id} of ${first.jobName}`}>
          {box.title} {box.title !== first.jobName && <span class="dim">{first.jobName}</span>}
        </a>
        <Status name={first.state} />
      </>
    );
  }
  const counts = new Map<string, number>();
  for (const { state } of box.runs) counts.set(state, (counts.get(state) ?? 0) + 1);
  const said = [...counts].map(([state, count]) => `${count} ${words(state)}`).join(", ");
  return (
    <>
      <span class="flow-name" title={`${box.title}: ${said}`}>
        {box.title} <span class="dim">{plural(box.runs.length, "run")}</span>
      </span>
      <Status name={boxState(box)} title={said} />
    </>
  );
}

function curve(from: FlowBox, to: FlowBox): string {
  const [x1, y1] = [from.layer * STEP.x + BOX.width, from.row * STEP.y + BOX.height / 2];
  const [x2, y2] = [to.layer * STEP.x, to.row * STEP.y + BOX.height / 2];
  const bend = (STEP.x - BOX.width) * 0.6;
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}
