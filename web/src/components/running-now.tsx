import type { RunRow } from "../graphql/fragments";
import { plural } from "../lib/format";
import { paths } from "../lib/paths";
import { serverNow, now } from "../live/clock";
import { runsShown } from "../model/overview";
import { Empty } from "./feedback";
import { Progress } from "./progress";
import { Section } from "./section";
import { Status } from "./status";
import { Elapsed } from "./time";
import { useSteady } from "./use-steady";

function RunItem({ run }: { run: RunRow }) {
  return (
    <li class={`run-item ${run.state === "RUNNING" ? "" : "ended"}`} data-row tabIndex={-1}>
      <a class="run-name" href={paths.logOfRun(run.id)} data-key="Enter">
        {run.taskName ?? run.jobName}
      </a>
      <span class="run-elapsed">{run.state === "RUNNING" ? <Elapsed since={run.startedAt ?? run.submittedAt} /> : <Status name={run.state} />}</span>
      <span class="run-note dim">
        {run.attempt > 1 && <span>attempt {run.attempt} · </span>}
        <span>{run.node ?? ""}</span>
      </span>
      <span class="run-progress">
        <Progress progress={run.progress} />
      </span>
    </li>
  );
}

/** The runs that are on now, with their progress; those that have just ended stay for a moment. */
export function RunningNow({ runs }: { runs: readonly RunRow[] }) {
  const current = runsShown(runs, Math.max(now.value, serverNow()));
  const { rows, fresh, release, bind } = useSteady(current);
  return (
    <Section title="Running now" aside={fresh > 0 ? <FreshButton count={fresh} release={release} /> : <a href="/runs?state=RUNNING">All runs</a>}>
      {rows.length === 0 ? (
        <Empty title="Nothing runs at this moment">
          <p class="dim">Runs show here while they last, and for a moment afterwards.</p>
        </Empty>
      ) : (
        <ul class="run-list" {...bind}>
          {rows.map((run) => (
            <RunItem key={run.id} run={run} />
          ))}
        </ul>
      )}
    </Section>
  );
}

/** Lets in the rows that waited for the pointer to leave. */
export function FreshButton({ count, release }: { count: number; release: () => void }) {
  return (
    <button type="button" class="button small fresh" onClick={release}>
      +{plural(count, "new", "new")}
    </button>
  );
}
