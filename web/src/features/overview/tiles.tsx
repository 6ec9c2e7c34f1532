import { capped, compact, percent } from "../../lib/format";
import { wholeDuration } from "../../lib/time";
import { frozen, serverNow } from "../../live/clock";
import type { TilesData } from "../../live/health";
import { useTicker } from "../../ui/use-ticker";
import { Sparkline } from "./sparkline";

/** The server tells its figures every second: older ones than this, in seconds, are said to be old. */
const OLD = 7;

interface TileProps {
  label: string;
  value: string;
  note?: string | undefined;
  tone?: "bad" | "warn" | undefined;
  href: string;
  /** How old the figure is, if that is worth saying. */
  age: string | null;
}

function Tile({ label, value, note, tone, href, age }: TileProps) {
  return (
    <a class={`tile ${tone === undefined ? "" : `tile-${tone}`} ${age === null ? "" : "dimmed"}`} href={href}>
      <span class="tile-label">{label}</span>
      <span class="tile-value num">{value}</span>
      <span class="tile-note">{age ?? note ?? "\u00a0"}</span>
    </a>
  );
}

/** Compared with the day before: `+3 than yesterday`. */
function change(now: number, before: number): string {
  if (now === before) return "as the day before";
  return `${Math.abs(now - before)} ${now > before ? "more" : "fewer"} than the day before`;
}

/** How many of the failures are no news, if any are. */
function ofKnown({ failedLast24h, unknownFailedLast24h }: TilesData): string | undefined {
  const known = failedLast24h - unknownFailedLast24h;
  return known === 0 ? undefined : `${unknownFailedLast24h === 0 ? "all" : compact(known)} of known errors`;
}

/** The health of the server in five numbers. */
export function Tiles({ tiles }: { tiles: TilesData }) {
  const queued = tiles.waiting + tiles.scheduled;
  // The page's own ticking, which goes on without a connection.
  useTicker(true);
  const seconds = (serverNow() - Date.parse(tiles.at)) / 1000;
  const age = frozen.value || seconds > OLD ? `as of ${wholeDuration(seconds)} ago` : null;
  return (
    <div class="tiles">
      <Tile age={age} label="Running" value={capped(tiles.running)} href="/runs?state=RUNNING" note="right now" />
      <Tile
        age={age}
        label="Queued"
        value={capped(queued)}
        href={tiles.stuck > 0 ? "/runs?state=STUCK" : "/runs?state=WAITING"}
        note={tiles.stuck > 0 ? `${capped(tiles.stuck)} retrying` : "none retrying"}
        tone={tiles.stuck > 0 ? "warn" : undefined}
      />
      <Tile
        age={age}
        label={"Failed, 24\u00a0h"}
        value={compact(tiles.failedLast24h)}
        href="/log?outcome=failures"
        note={ofKnown(tiles) ?? change(tiles.failedLast24h, tiles.failedPrevious24h)}
        tone={tiles.unknownFailedLast24h > 0 ? "bad" : undefined}
      />
      <Tile
        age={age}
        label={"Success rate, 24\u00a0h"}
        value={tiles.successRate === null ? "–" : percent(tiles.successRate)}
        href="/log"
        note="of ended executions"
      />
      <a class={age === null ? "tile" : "tile dimmed"} href="/log">
        <span class="tile-label">Runs per minute</span>
        <span class="tile-value num">{compact(tiles.runsPerMinute)}</span>
        {age !== null && <span class="tile-note">{age}</span>}
        <Sparkline values={tiles.perMinute} label="Runs per minute over the last hour" />
      </a>
    </div>
  );
}
