import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Action } from "../../ui/action";
import { Icon } from "../../ui/icon";

/** From one size to the next. */
const STEP = 1.25;
const SMALLEST = 0.2;
const LARGEST = 2;
/** Pixels of the small map, at most, and how high it is at least, however long the drawing. */
const MAP = { width: 220, height: 72, least: 20 } as const;

interface PanZoomProps {
  label: string;
  /** Pixels of the drawing at its own size. */
  width: number;
  height: number;
  /** What the small map shows, in pixels of the drawing. */
  map: ComponentChildren;
  children: ComponentChildren;
}

/** The part of the drawing that is in sight, in pixels of the frame. */
interface Sight {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

const NOWHERE: Sight = { left: 0, top: 0, width: 0, height: 0 };

/**
 * A frame for a drawing that may be larger than it: moved by scrolling, arrows or dragging, drawn larger and smaller by
 * buttons, + and −, or the wheel with Ctrl, and with a small map of the whole where it does not fit.
 */
export function PanZoom({ label, width, height, map, children }: PanZoomProps) {
  const frame = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState(1);
  const [sight, setSight] = useState<Sight>(NOWHERE);
  /** What of the drawing stays where it is while the size changes. */
  const held = useRef<{ x: number; y: number; atX: number; atY: number } | null>(null);
  const look = (): void => {
    const element = frame.current;
    if (element === null) return;
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = element;
    setSight((before) =>
      before.left === scrollLeft &&
      before.top === scrollTop &&
      before.width === clientWidth &&
      before.height === clientHeight
        ? before
        : { left: scrollLeft, top: scrollTop, width: clientWidth, height: clientHeight },
    );
  };
  const scale = (to: number, atX?: number, atY?: number): void => {
    const element = frame.current;
    if (element === null) return;
    const [x, y] = [atX ?? element.clientWidth / 2, atY ?? element.clientHeight / 2];
    held.current = { x: (element.scrollLeft + x) / zoom, y: (element.scrollTop + y) / zoom, atX: x, atY: y };
    setZoom(Math.min(LARGEST, Math.max(SMALLEST, to)));
  };
  const fit = (): void => {
    const { clientWidth = 0, clientHeight = 0 } = frame.current ?? {};
    scale(Math.min(1, clientWidth / width, clientHeight / height));
  };
  useLayoutEffect(() => {
    const [element, point] = [frame.current, held.current];
    held.current = null;
    if (element !== null && point !== null) {
      element.scrollLeft = point.x * zoom - point.atX;
      element.scrollTop = point.y * zoom - point.atY;
    }
    look();
  }, [zoom, width, height]);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const onWheel = (event: WheelEvent): void => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const box = element.getBoundingClientRect();
      scale(zoom * Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [zoom]);
  const fits = width * zoom <= sight.width && height * zoom <= sight.height;
  return (
    <div>
      <div class="pan-zoom-tools" role="group" aria-label="Size of the drawing">
        <Action
          class="icon-button"
          aria-label="Smaller"
          title="Smaller (−)"
          reason={zoom <= SMALLEST ? "It is as small as it gets" : null}
          onClick={() => scale(zoom / STEP)}
        >
          <span aria-hidden="true">−</span>
        </Action>
        <button type="button" class="button small num" title="Its own size (0)" onClick={() => scale(1)}>
          {Math.round(zoom * 100)} %
        </button>
        <Action
          class="icon-button"
          aria-label="Larger"
          title="Larger (+)"
          reason={zoom >= LARGEST ? "It is as large as it gets" : null}
          onClick={() => scale(zoom * STEP)}
        >
          <Icon name="plus" />
        </Action>
        <button type="button" class="button small" onClick={fit}>
          Fit
        </button>
        {!fits && (
          <MiniMap
            width={width}
            height={height}
            sight={{
              left: sight.left / zoom,
              top: sight.top / zoom,
              width: sight.width / zoom,
              height: sight.height / zoom,
            }}
            go={(x, y) =>
              frame.current?.scrollTo({ left: x * zoom - sight.width / 2, top: y * zoom - sight.height / 2 })
            }
          >
            {map}
          </MiniMap>
        )}
      </div>
      <div
        ref={frame}
        class="flow-scroll"
        tabIndex={0}
        role="group"
        aria-label={label}
        onScroll={look}
        onKeyDown={(event) => {
          if (event.ctrlKey || event.metaKey || event.altKey || event.target !== event.currentTarget) return;
          const to = { "+": zoom * STEP, "-": zoom / STEP, "0": 1 }[event.key];
          if (to === undefined) return;
          event.preventDefault();
          scale(to);
        }}
        onPointerDown={(event) => {
          if (event.pointerType === "mouse" && event.button === 0) drag(event);
        }}
      >
        <div class="flow-drawing" style={{ width: `${width * zoom}px`, height: `${height * zoom}px` }}>
          <div class="pan-zoom-scaled" style={{ transform: zoom === 1 ? "" : `scale(${zoom})` }}>
            {children}
          </div>
        </div>
      </div>
    </div>
  );
}

/** Moves the drawing with the pointer, unless that presses something in it. */
function drag(event: PointerEvent): void {
  const element = event.currentTarget;
  if (!(element instanceof HTMLElement) || (event.target instanceof Element && event.target.closest("a, button")))
    return;
  const [x, y] = [event.clientX + element.scrollLeft, event.clientY + element.scrollTop];
  const move = (moved: PointerEvent): void => element.scrollTo({ left: x - moved.clientX, top: y - moved.clientY });
  const end = (): void => {
    element.removeEventListener("pointermove", move);
    element.classList.remove("dragged");
  };
  element.setPointerCapture(event.pointerId);
  element.classList.add("dragged");
  element.addEventListener("pointermove", move);
  element.addEventListener("lostpointercapture", end, { once: true });
}

interface MiniMapProps {
  width: number;
  height: number;
  /** What is in sight, in pixels of the drawing. */
  sight: Sight;
  go(x: number, y: number): void;
  children: ComponentChildren;
}

/** For the pointer only: keys move the drawing itself. */
function MiniMap({ width, height, sight, go, children }: MiniMapProps) {
  const scale = Math.min(MAP.width / width, MAP.height / height);
  const scaleY = Math.max(scale, Math.min(1, MAP.least / height));
  const follow = (event: PointerEvent): void => {
    if (event.buttons !== 1 || !(event.currentTarget instanceof Element)) return;
    const box = event.currentTarget.getBoundingClientRect();
    go((event.clientX - box.left) / scale, (event.clientY - box.top) / scaleY);
  };
  return (
    <svg
      class="mini-map"
      aria-hidden="true"
      width={width * scale}
      height={height * scaleY}
      preserveAspectRatio="none"
      viewBox={`0 0 ${width} ${height}`}
      onPointerDown={(event) => {
        event.preventDefault();
        follow(event);
      }}
      onPointerMove={follow}
    >
      {children}
      <rect
        class="mini-map-sight"
        x={sight.left}
        y={sight.top}
        width={Math.min(width, sight.width)}
        height={Math.min(height, sight.height)}
        vector-effect="non-scaling-stroke"
      />
    </svg>
  );
}
