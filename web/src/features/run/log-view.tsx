import { Component } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { integer, plural } from "../../lib/format";
import { clock } from "../../lib/time";
import {
  type Chunk,
  fieldsText,
  LEVELS,
  type Line,
  LONG_LINE,
  type LogBuffer,
  levelAtLeast,
  plainText,
} from "../../model/log-buffer";
import { zone } from "../../state/prefs";
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

/** The log of an execution. It follows its end until one scrolls up. */
export function LogView({ buffer, running, onDownload }: LogViewProps) {
  const level = searchParams.value.get("level") ?? "DEBUG";
  const { box, following, unseen, follow, onScroll } = useFollow(buffer);
  const marked = Number(/^#L(\d+)$/.exec(location.hash)?.[1] ?? 0);
  return (
    <div class="log">
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
        <span class="dim num">
          {plural(buffer.last, "line")}
          {buffer.cut > 0 && `, ${integer(buffer.cut)} cut`}
          {buffer.ended ? " · complete" : " · live"}
        </span>
        <button type="button" class="button small" onClick={onDownload}>
          <Icon name="download" /> Download
        </button>
      </div>
      <div
        ref={box}
        class={buffer.ended && buffer.last === 0 ? "log-box nothing" : "log-box"}
        onScroll={onScroll}
        tabIndex={0}
        role="log"
        aria-label="Log lines"
        aria-live="off"
      >
        {buffer.chunks.map((chunk) => (
          <ChunkView key={chunk.first} chunk={chunk} level={level} marked={marked} zone={zone.value} />
        ))}
        {buffer.last === 0 && (
          <p class="log-end">
            {buffer.ended ? "This execution logged nothing." : running ? "Nothing logged yet." : "Reading the log…"}
          </p>
        )}
        {buffer.ended && buffer.last > 0 && <p class="log-end">end of the log</p>}
      </div>
      {!following && unseen > 0 && (
        <button type="button" class="button small fresh log-new" onClick={follow}>
          {plural(unseen, "new line")} <Icon name="down" />
        </button>
      )}
    </div>
  );
}

/** Keeps the end in view until one scrolls away from it; counts what comes meanwhile. */
function useFollow(buffer: LogBuffer) {
  const box = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(location.hash === "");
  const [seen, setSeen] = useState(0);
  const top = useRef(0);
  const toEnd = (): void => {
    const element = box.current;
    if (element !== null) element.scrollTop = element.scrollHeight;
  };
  useLayoutEffect(() => {
    if (following) toEnd();
  }, [buffer.last, following]);
  useEffect(() => {
    if (following) setSeen(buffer.last);
  }, [buffer.last, following]);
  return {
    box,
    following,
    unseen: buffer.last - seen,
    follow: () => setFollowing(true),
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
  /** The line that the address names, or 0. */
  marked: number;
  zone: "utc" | "local";
}

/** Two hundred lines: drawn again only when one of them is new. */
class ChunkView extends Component<ChunkProps> {
  override shouldComponentUpdate(next: ChunkProps): boolean {
    return (
      next.chunk !== this.props.chunk ||
      next.level !== this.props.level ||
      next.marked !== this.props.marked ||
      next.zone !== this.props.zone
    );
  }

  override render({ chunk, level, marked }: ChunkProps) {
    const lines = chunk.lines.filter((line) => levelAtLeast(line.level, level));
    return (
      <div class="log-chunk">
        {lines.map((line) => (
          <LineView key={line.line} line={line} marked={line.line === marked} />
        ))}
      </div>
    );
  }
}

function LineView({ line, marked }: { line: Line; marked: boolean }) {
  const [whole, setWhole] = useState(false);
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (marked) element.current?.scrollIntoView({ block: "center" });
  }, [marked]);
  const text = plainText(line.message);
  const shown = whole || text.length <= LONG_LINE ? text : text.slice(0, LONG_LINE);
  const fields = fieldsText(line.fields);
  return (
    <div
      ref={element}
      id={`L${line.line}`}
      class={`log-line level-${line.level.toLowerCase()} ${marked ? "marked" : ""}`}
    >
      <a class="log-number" href={`#L${line.line}`}>
        {line.line}
      </a>
      <span class="log-time">{clock(Date.parse(line.at), zone.value)}</span>
      <span class="log-word">{line.level.toLowerCase()}</span>
      <span class="log-message">
        {shown}
        {shown !== text && (
          <button type="button" class="link-button" onClick={() => setWhole(true)}>
            show all {integer(text.length)} characters
          </button>
        )}
        {fields !== "" && <span class="dim">{fields}</span>}
      </span>
    </div>
  );
}
