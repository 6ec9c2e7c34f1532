/** Where the boxes and the lines of a flow are drawn, from left to right; by dagre. Pure. */
import { graphlib, layout } from "@dagrejs/dagre";
import type { FlowBox } from "./flow-graph";

/** Pixels of a box. */
export const BOX = { width: 176, height: 50 } as const;
const GAPS = { nodesep: 14, ranksep: 44, edgesep: 8 } as const;
/** Above so many lines, those are left out that follow from others. */
const MOST_LINES = 300;

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A line from a box to one that comes after it. */
export interface FlowLine {
  readonly from: string;
  readonly to: string;
  readonly points: readonly Point[];
}

export interface FlowLayout {
  readonly width: number;
  readonly height: number;
  /** The upper left corner of each box, by its id. */
  readonly corners: ReadonlyMap<string, Point>;
  readonly lines: readonly FlowLine[];
}

type Linked = Pick<FlowBox, "id" | "after">;

/** The same for the same boxes in any state. */
export function layoutOf(boxes: readonly Linked[]): FlowLayout {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: "LR", ...GAPS });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of boxes) graph.setNode(id, { ...BOX });
  for (const [from, to] of linesOf(boxes)) graph.setEdge(from, to);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  const corners = new Map(boxes.map(({ id }) => [id, cornerOf(graph.node(id) as Point)]));
  const lines = graph.edges().map(({ v, w }) => ({ from: v, to: w, points: (graph.edge(v, w) as FlowLine).points }));
  return { width: Math.max(0, width), height: Math.max(0, height), corners, lines };
}

function cornerOf({ x, y }: Point): Point {
  return { x: x - BOX.width / 2, y: y - BOX.height / 2 };
}

function linesOf(boxes: readonly Linked[]): readonly (readonly [from: string, to: string])[] {
  const all = boxes.flatMap(({ id, after }) => after.map((from) => [from, id] as const));
  if (all.length <= MOST_LINES) return all;
  const afterOf = new Map(boxes.map(({ id, after }) => [id, after]));
  const earlier = new Map(boxes.map(({ id }) => [id, earlierThan(id, afterOf)]));
  return all.filter(
    ([from, to]) => !(afterOf.get(to) ?? []).some((other) => other !== from && earlier.get(other)?.has(from) === true),
  );
}

/** All that ends before a box begins. */
function earlierThan(id: string, afterOf: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const found = new Set<string>();
  const open = [...(afterOf.get(id) ?? [])];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (found.has(one)) continue;
    found.add(one);
    open.push(...(afterOf.get(one) ?? []));
  }
  return found;
}
