import type { RunRow } from "../../api/fragments";
import { paths } from "../../lib/paths";
import { duration } from "../../lib/time";
import { now, serverNow } from "../../live/clock";
import { pendingRuns, stillPending } from "../../state/pending";
import { Empty } from "../../ui/feedback";
import { FreshButton } from "../../ui/fresh-button";
import { Progress } from "../../ui/progress";
import { Section } from "../../ui/section";
import { Status } from "../../ui/status";
import { Elapsed } from "../../ui/time";
import { useSteady } from "../../ui/use-steady";
import { runsShown } from "./model";
import { useUsual } from "./usual-service";

function RunItem({ run, usual }: { run: RunRow; usual: number | null }) {
  const started = run.startedAt ?? run.submittedAt;
  return (
    <li class={`run-item ${run.state === "RUNNING" ? "" : "ended"}`} data-row tabIndex={-1}>
      <a class="run-name" href={paths.run(run.id)} data-key="Enter">
        {run.taskName ?? run.jobName}
      </a>{" "}
      <span class="run-elapsed">
        {run.state === "RUNNING" ? <Elapsed since={started} /> : <Status name={run.state} />}
      </span>{" "}
      <span class="run-note dim" title={run.node ?? undefined}>
        {run.attempt > 1 && <span>attempt {run.attempt} · </span>}
        <span>{run.node ?? ""}</span>
      </span>{" "}
      <span class="run-progress">
        {run.progress === null && run.state === "RUNNING" && usual !== null ? (
          <Expected since={started} usual={usual} />
        ) : (
          <Progress progress={run.progress} />
        )}{" "}
        {run.progress !== null && run.state === "RUNNING" && usual !== null && (
          <Overdue since={started} usual={usual} />
        )}
      </span>
    </li>
  );
}

/** A bar for a job that does not say how far it is: its time against what 95 of 100 of its runs need. */
function Expected({ since, usual }: { since: string; usual: number }) {
  const seconds = (now.value - Date.parse(since)) / 1000;
  // The mark stands at two thirds, so that there is room to be late.
  const share = Math.min(1, (seconds / usual) * (2 / 3));
  return (
    <span class="progress">
      <span class="expected">
        <progress class={seconds > usual ? "late" : ""} max={1} value={Math.max(0, share)} aria-label="Time used" />{" "}
        <span class="expected-mark" title={`95 of 100 runs end within ${duration(usual)}`} />
      </span>{" "}
      <span class="progress-text num">
        {seconds > usual ? `longer than 95 % (${duration(usual)})` : `usually within ${duration(usual)}`}
      </span>
    </span>
  );
}

function Overdue({ since, usual }: { since: string; usual: number }) {
  return (now.value - Date.parse(since)) / 1000 > usual ? (
    <span class="progress-text tone-warn">longer than 95 % ({duration(usual)})</span>
  ) : null;
}

/** A run that was asked for a moment ago. */
function PendingItem({ name }: { name: string }) {
  return (
    <li class="run-item pending">
      <span class="run-name">{name}</span> <span class="run-elapsed dim">asked for…</span>
    </li>
  );
}

/** The runs that are on now, with their progress; those that have just ended stay for a moment. */
export function RunningNow({ runs }: { runs: readonly RunRow[] }) {
  const current = runsShown(runs, Math.max(now.value, serverNow()));
  const { rows, fresh, release, bind } = useSteady(current, (run) => run.id);
  const pending = stillPending(
    pendingRuns.value,
    runs.map((run) => run.id),
  );
  const usual = useUsual(current);
  return (
    <Section
      title="Running now"
      aside={fresh > 0 ? <FreshButton count={fresh} release={release} /> : <a href="/runs?state=RUNNING">All runs</a>}
    >
      {rows.length === 0 && pending.length === 0 ? (
        <Empty title="Nothing runs at this moment">
          <p class="dim">Runs show here while they last, and for a moment afterwards.</p>
        </Empty>
      ) : (
        <ul class="run-list" {...bind}>
          {pending.map((run) => (
            <PendingItem key={run.key} name={run.name} />
          ))}
          {rows.map((run) => (
            <RunItem key={run.id} run={run} usual={usual(run)} />
          ))}
        </ul>
      )}
    </Section>
  );
}
