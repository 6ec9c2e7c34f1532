import { Component, createRef, type RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { plainText, styledText } from "../../lib/ansi";
import { integer, plural } from "../../lib/format";
import { clock } from "../../lib/time";
import {
  CHUNK,
  type Chunk,
  fieldsText,
  foldedJson,
  keptLines,
  LEVELS,
  type Line,
  LONG_LINE,
  type LogBuffer,
  levelAtLeast,
  linesWith,
} from "../../model/log-buffer";
import { wrapLines, zone } from "../../state/prefs";
import { searchParams, setParams } from "../../state/route";
import { Icon } from "../../ui/icon";

interface LogViewProps {
  buffer: LogBuffer;
  /** Whether the execution is still running: an empty log then means "nothing yet". */
  running: boolean;
  onDownload: () => void;
}

/** Within this many pixels of its end the log follows it. */
const NEAR_END = 24;

/** Chunks within this many pixels of the view are drawn. */
const AROUND = 800;

/** Pixels of a line that was never drawn. */
const LINE_HEIGHT = 24;

/**
 * How many chunks at the end are always drawn, so that new lines are there at once: those that a window shows, and the
 * one that is being filled. While lines pour in, all of these are new in each frame.
 */
function chunksAtEnd(): number {
  return 1 + Math.ceil(window.innerHeight / (CHUNK * LINE_HEIGHT));
}

/**
 * The log of an execution. It follows its end until one scrolls up; then the lines that are read stay, however many
 * come after them. Only the chunks in view are drawn.
 */
export function LogView({ buffer, running, onDownload }: LogViewProps) {
  const level = searchParams.value.get("level") ?? "DEBUG";
  const { box, following, setFollowing, unseen, onScroll, onLayout } = useFollow(buffer);
  const shown = useHeld(buffer, following);
  const observer = useObserver(box);
  const marked = Number(/^#L(\d+)$/.exec(location.hash)?.[1] ?? 0);
  const find = useFind(shown, level, () => setFollowing(false));
  useEffect(() => {
    if (marked > 0) setFollowing(false);
  }, [marked]);
  const wrap = wrapLines.value;
  const atEnd = chunksAtEnd();
  return (
    <div class="log">
      <LogBar buffer={buffer} level={level} find={find} onDownload={onDownload} />
      <div
        ref={box}
        class={`log-box ${buffer.ended && buffer.last === 0 ? "nothing" : ""} ${wrap ? "" : "one-line-each"}`}
        onScroll={onScroll}
        tabIndex={0}
        role="log"
        aria-label="Log lines"
        aria-live="off"
      >
        {shown.chunks.map((chunk, place) => (
          <ChunkView
            key={chunk.first}
            chunk={chunk}
            level={level}
            atEnd={place >= shown.chunks.length - atEnd}
            marked={lineWithin(chunk, marked)}
            found={lineWithin(chunk, find.line)}
            wanted={find.text}
            zone={zone.value}
            observer={observer}
            onLayout={onLayout}
          />
        ))}
        {buffer.last === 0 && (
          <p class="log-end">
            {buffer.ended ? "This execution logged nothing." : running ? "Nothing logged yet." : "Reading the log…"}
          </p>
        )}
        {shown.ended && shown.last > 0 && <p class="log-end">end of the log</p>}
      </div>
      {!following && unseen > 0 && (
        <button type="button" class="button small fresh log-new" onClick={() => setFollowing(true)}>
          {plural(unseen, "new line")} <Icon name="down" />
        </button>
      )}
    </div>
  );
}

function lineWithin({ lines }: Chunk, line: number): number {
  return line >= (lines[0]?.line ?? Infinity) && line <= (lines.at(-1)?.line ?? 0) ? line : 0;
}

interface LogBarProps {
  buffer: LogBuffer;
  level: string;
  find: Find;
  onDownload: () => void;
}

function LogBar({ buffer, level, find, onDownload }: LogBarProps) {
  const cut = Math.max(buffer.cut, buffer.last - keptLines(buffer));
  return (
    <div class="log-bar">
      <label class="log-level">
        <span class="visually-hidden">Least level</span>
        <select
          class="select"
          value={level}
          onChange={(event) =>
            setParams(
              { level: event.currentTarget.value === "DEBUG" ? null : event.currentTarget.value },
              { replace: true },
            )
          }
        >
          {LEVELS.map((each) => (
            <option key={each} value={each}>
              {each === "DEBUG" ? "all levels" : `${each.toLowerCase()} and up`}
            </option>
          ))}
        </select>
      </label>
      <FindBar find={find} />
      <span class="dim num">
        {plural(buffer.last, "line")}
        {cut > 0 && `, ${integer(cut)} cut`}
        {buffer.ended ? (cut > 0 ? " · ended" : " · complete") : " · live"}
      </span>
      <span class="log-tools">
        <button
          type="button"
          class="button small"
          aria-pressed={wrapLines.value}
          onClick={() => (wrapLines.value = !wrapLines.value)}
        >
          Wrap
        </button>
        <button type="button" class="button small" onClick={onDownload}>
          <Icon name="download" /> Download
        </button>
      </span>
    </div>
  );
}

interface Find {
  readonly text: string;
  /** How many lines hold the text. */
  readonly count: number;
  /** Which of them is looked at, from 1; 0 before the first step. */
  readonly place: number;
  /** The number of that line, or 0. */
  readonly line: number;
  readonly look: (text: string) => void;
  readonly step: (by: 1 | -1) => void;
}

/** Looks for a text in the lines that are kept, and steps through those that hold it. */
function useFind(buffer: LogBuffer, level: string, onStep: () => void): Find {
  const [text, setText] = useState("");
  const [line, setLine] = useState(0);
  const found = useMemo(() => linesWith(buffer, text, level), [buffer, text, level]);
  return {
    text,
    count: found.length,
    place: found.indexOf(line) + 1,
    line,
    look: (wanted) => {
      setText(wanted);
      setLine(0);
    },
    step: (by) => {
      const next = by > 0 ? found.find((each) => each > line) : found.findLast((each) => each < line);
      setLine(next ?? found.at(by > 0 ? 0 : -1) ?? 0);
      onStep();
    },
  };
}

function FindBar({ find }: { find: Find }) {
  const { text, count, place, look, step } = find;
  return (
    <span class="log-find">
      <input
        class="input"
        type="search"
        aria-label="Find in the log"
        placeholder="Find…"
        value={text}
        onInput={(event) => look(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          step(event.shiftKey ? -1 : 1);
        }}
      />
      {text !== "" && (
        <>
          <span class="dim num" role="status">
            {place > 0 ? `${integer(place)} of ${integer(count)}` : plural(count, "line")}
          </span>
          <button type="button" class="icon-button" aria-label="Previous match" onClick={() => step(-1)}>
            <Icon name="up" />
          </button>
          <button type="button" class="icon-button" aria-label="Next match" onClick={() => step(1)}>
            <Icon name="down" />
          </button>
        </>
      )}
    </span>
  );
}

/** The lines to show: once one has scrolled up, those that are there stay, even when the buffer has dropped them. */
function useHeld(buffer: LogBuffer, following: boolean): LogBuffer {
  const held = useRef(buffer);
  const first = held.current.chunks[0]?.first;
  if (following || first === undefined || first === buffer.chunks[0]?.first) held.current = buffer;
  return held.current;
}

/** Tells the elements of chunks when they come near the view and when they leave it. */
interface Observer {
  readonly watch: (element: Element, changed: (near: boolean) => void) => () => void;
}

function useObserver(box: RefObject<HTMLElement | null>): Observer {
  const watched = useRef(new Map<Element, (near: boolean) => void>());
  const observer = useRef<IntersectionObserver | null>(null);
  useEffect(() => {
    const made = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) watched.current.get(target)?.(isIntersecting);
      },
      { root: box.current, rootMargin: `${AROUND}px 0px` },
    );
    observer.current = made;
    for (const element of watched.current.keys()) made.observe(element);
    return () => made.disconnect();
  }, []);
  return useMemo(
    () => ({
      watch: (element, changed) => {
        watched.current.set(element, changed);
        observer.current?.observe(element);
        return () => {
          watched.current.delete(element);
          observer.current?.unobserve(element);
        };
      },
    }),
    [],
  );
}

/** Keeps the end in view until one scrolls away from it; counts what comes meanwhile. */
function useFollow(buffer: LogBuffer) {
  const box = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(location.hash === "");
  const [seen, setSeen] = useState(0);
  const top = useRef(0);
  const follows = useRef(following);
  follows.current = following;
  const toEnd = (): void => {
    const element = box.current;
    if (element !== null) element.scrollTop = element.scrollHeight;
  };
  // Each chunk that is drawn asks for it: to look where the end is once for each would lay the page out as often.
  const isAsked = useRef(false);
  const soonToEnd = (): void => {
    if (isAsked.current) return;
    isAsked.current = true;
    queueMicrotask(() => {
      isAsked.current = false;
      if (follows.current) toEnd();
    });
  };
  useLayoutEffect(() => {
    if (following) soonToEnd();
  }, [buffer.last, following]);
  useEffect(() => {
    if (following) setSeen(buffer.last);
  }, [buffer.last, following]);
  return {
    box,
    following,
    setFollowing,
    unseen: buffer.last - seen,
    /** Chunks have got another height. */
    onLayout: useMemo(
      () => () => {
        if (follows.current) soonToEnd();
      },
      [],
    ),
    onScroll: () => {
      const element = box.current;
      if (element === null) return;
      const isUp = element.scrollTop < top.current;
      top.current = element.scrollTop;
      if (element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END) setFollowing(true);
      else if (isUp) setFollowing(false);
      // The lines have grown since the end was shown: nobody has left it.
      else if (following) toEnd();
    },
  };
}

interface ChunkProps {
  chunk: Chunk;
  level: string;
  atEnd: boolean;
  /** The line of it that the address names, or 0. */
  marked: number;
  /** The line of it that a search has led to, or 0. */
  found: number;
  wanted: string;
  zone: "utc" | "local";
  observer: Observer;
  onLayout: () => void;
}

/** Fifty lines: drawn when they are in view, and again only when one of them is new. */
class ChunkView extends Component<ChunkProps, { near: boolean; lineHeight: number }> {
  override state = { near: false, lineHeight: LINE_HEIGHT };
  readonly element = createRef<HTMLDivElement>();
  private stop: () => void = () => undefined;

  override componentDidMount(): void {
    const element = this.element.current;
    if (element === null) return;
    this.stop = this.props.observer.watch(element, (near) => {
      const drawn = element.childElementCount;
      const lineHeight = drawn > 0 ? element.offsetHeight / drawn : this.state.lineHeight;
      if (near !== this.state.near) this.setState({ near, lineHeight });
    });
  }

  override shouldComponentUpdate(next: ChunkProps, state: { near: boolean }): boolean {
    const names = ["chunk", "level", "atEnd", "marked", "found", "wanted", "zone"] as const;
    return state.near !== this.state.near || names.some((name) => next[name] !== this.props[name]);
  }

  override componentDidUpdate(): void {
    this.props.onLayout();
  }

  override componentWillUnmount(): void {
    this.stop();
  }

  override render() {
    const { chunk, level, atEnd, marked, found, wanted } = this.props;
    const lines = chunk.lines.filter((line) => levelAtLeast(line.level, level));
    const drawn = this.state.near || atEnd || marked > 0 || found > 0;
    const height = lines.length * this.state.lineHeight;
    return (
      <div ref={this.element} class="log-chunk" style={drawn ? undefined : { height: `${height}px` }}>
        {drawn &&
          lines.map((line) => (
            <LineView
              key={line.line}
              line={line}
              marked={line.line === marked}
              found={line.line === found}
              wanted={wanted}
            />
          ))}
      </div>
    );
  }
}

interface LineProps {
  line: Line;
  marked: boolean;
  found: boolean;
  wanted: string;
}

function LineView({ line, marked, found, wanted }: LineProps) {
  const [whole, setWhole] = useState(false);
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (marked || found) element.current?.scrollIntoView({ block: "center" });
  }, [marked, found]);
  const text = plainText(line.message);
  const isCut = !whole && text.length > LONG_LINE;
  const fields = fieldsText(line.fields);
  const json = isCut ? null : foldedJson(text);
  return (
    <div
      ref={element}
      id={`L${line.line}`}
      class={`log-line level-${line.level.toLowerCase()} ${marked ? "marked" : ""} ${found ? "found" : ""}`.trim()}
    >
      <a class="log-number" href={`#L${line.line}`}>
        {line.line}
      </a>
      <span class="log-time">{clock(Date.parse(line.at), zone.value)}</span>
      <span class="log-word">{line.level.toLowerCase()}</span>
      <span class="log-message">
        {json !== null ? (
          <details class="log-json">
            <summary>
              <Marked text={text} wanted={wanted} />
            </summary>
            <pre>{json}</pre>
          </details>
        ) : isCut ? (
          text.slice(0, LONG_LINE)
        ) : (
          styledText(line.message).map(({ text: piece, style }) =>
            style === "" ? (
              <Marked text={piece} wanted={wanted} />
            ) : (
              <span class={style}>
                <Marked text={piece} wanted={wanted} />
              </span>
            ),
          )
        )}
        {isCut && (
          <button type="button" class="link-button" onClick={() => setWhole(true)}>
            show all {integer(text.length)} characters
          </button>
        )}
        {fields !== "" && (
          <span class="dim">
            <Marked text={fields} wanted={wanted} />
          </span>
        )}
      </span>
    </div>
  );
}

/** A text in which what is looked for is marked. */
function Marked({ text, wanted }: { text: string; wanted: string }) {
  if (wanted === "") return <>{text}</>;
  const parts = text.split(new RegExp(`(${wanted.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")})`, "i"));
  return <>{parts.map((part, place) => (place % 2 === 1 ? <mark>{part}</mark> : part))}</>;
}
