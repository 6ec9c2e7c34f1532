import { shortClock, zoneName } from "../lib/time";
import { link } from "../live";
import { now, serverNow } from "../live/clock";
import { health, type TilesData } from "../live/health";
import { lag, secondsBehind } from "../live/lag";
import { view } from "../live/link-state";
import { zone } from "../state/prefs";
import { Icon } from "../ui/icon";
import { useTicker } from "../ui/use-ticker";

/** Whether what the page shows is live, and if not, since when and what happens next. */
export function LinkPill() {
  const state = link.state.value;
  // The page's own clock, not the server's: it must count on while the latter stands still.
  const time = useTicker(state.kind !== "live" || lag.value !== null);
  // Drawn between two ticks, too, when the next attempt is set: by the last tick that would seem further away.
  const shown = view(state, Math.max(time, Date.now()), !navigator.onLine);
  const behind = secondsBehind(lag.value, time);
  switch (shown.kind) {
    case "live":
      if (behind !== null) {
        return (
          <span class="pill pill-wait" title="Connected, but changes arrive late: what is shown is so old">
            <span class="pill-dot" />
            {behind} s behind
          </span>
        );
      }
      if (allDrain(health.value)) {
        return (
          <span
            class="pill pill-wait"
            title="Connected, but every node is about to end: what runs is finished, nothing new begins"
          >
            <span class="pill-dot" />
            draining
          </span>
        );
      }
      return (
        <span class="pill pill-live" title="Connected: every change shows at once">
          <span class="pill-dot" />
          live
        </span>
      );
    case "connecting":
      return (
        <span class="pill pill-wait">
          <span class="pill-dot" />
          connecting
        </span>
      );
    case "reconnecting":
      return (
        <Reconnect
          text={
            (shown.restarting ? "server stopped, " : "") +
            (shown.inSeconds > 0 ? `reconnecting in ${shown.inSeconds} s` : "reconnecting")
          }
          tone="wait"
        />
      );
    case "offline": {
      const since = shown.since + (serverNow() - Date.now());
      return (
        <Reconnect
          text={`offline since ${shortClock(since, zone.value)} ${zoneName(now.value, zone.value)}`}
          tone="down"
        />
      );
    }
  }
}

/** Whether nothing new begins, because all who are up are about to end. */
export function allDrain(figures: Pick<TilesData, "liveNodes" | "drainingNodes"> | null): boolean {
  return figures !== null && figures.drainingNodes > 0 && figures.drainingNodes === figures.liveNodes;
}

function Reconnect({ text, tone }: { text: string; tone: "wait" | "down" }) {
  return (
    <button
      type="button"
      class={`pill pill-${tone}`}
      title="What is shown may be out of date. Press to try again now."
      onClick={() => link.retryNow()}
    >
      <Icon name="lost" />
      {text}
    </button>
  );
}
