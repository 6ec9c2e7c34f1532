import { capped, compact, percent } from "../lib/format";
import type { TilesData } from "../state/health";
import { Sparkline } from "./sparkline";

interface TileProps {
  label: string;
  value: string;
  note?: string | undefined;
  tone?: "bad" | "warn" | undefined;
  href: string;
}

function Tile({ label, value, note, tone, href }: TileProps) {
  return (
    <a class={`tile ${tone === undefined ? "" : `tile-${tone}`}`} href={href}>
      <span class="tile-label">{label}</span>
      <span class="tile-value num">{value}</span>
      <span class="tile-note">{note ?? "\u00a0"}</span>
    </a>
  );
}

/** Compared with the day before: `+3 than yesterday`. */
function change(now: number, before: number): string {
  if (now === before) return "as the day before";
  return `${Math.abs(now - before)} ${now > before ? "more" : "fewer"} than the day before`;
}

/** The health of the server in five numbers. */
export function Tiles({ tiles }: { tiles: TilesData }) {
  const queued = tiles.waiting + tiles.scheduled;
  return (
    <div class="tiles">
      <Tile label="Running" value={capped(tiles.running)} href="/runs?state=RUNNING" note="right now" />
      <Tile
        label="Queued"
        value={capped(queued)}
        href={tiles.stuck > 0 ? "/runs?state=STUCK" : "/runs?state=WAITING"}
        note={tiles.stuck > 0 ? `${capped(tiles.stuck)} stuck, will be retried` : "none stuck"}
        tone={tiles.stuck > 0 ? "warn" : undefined}
      />
      <Tile
        label="Failed, 24 h"
        value={compact(tiles.failedLast24h)}
        href="/log?outcome=failures"
        note={change(tiles.failedLast24h, tiles.failedPrevious24h)}
        tone={tiles.failedLast24h > 0 ? "bad" : undefined}
      />
      <Tile label="Success rate, 24 h" value={tiles.successRate === null ? "–" : percent(tiles.successRate)} href="/log" note="of ended executions" />
      <a class="tile" href="/log">
        <span class="tile-label">Runs per minute</span>
        <span class="tile-value num">{compact(tiles.runsPerMinute)}</span>
        <Sparkline values={tiles.perMinute} label="Runs per minute over the last hour" />
      </a>
    </div>
  );
}
