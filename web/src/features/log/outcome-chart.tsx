import { integer } from "../../lib/format";
import type { Bucket } from "../../model/chart";
import { StackedBars } from "../../ui/stacked-bars";

const SIZE = { width: 1280, height: 120 } as const;

interface OutcomeChartsProps {
  buckets: readonly Bucket[];
  /** Which executions these are: "last 24 h". */
  of: string;
  /** Since when all are counted, in milliseconds; of the time before nothing is known. */
  since?: number;
}

/** Executions by outcome, and records, over time. */
export function OutcomeCharts({ buckets, of, since }: OutcomeChartsProps) {
  const starts = buckets.map((bucket) => Date.parse(bucket.at));
  return (
    <div class="columns">
      <section class="panel" aria-label="Executions over time">
        <StackedBars
          title={`Executions, ${of}`}
          starts={starts}
          total="Executions"
          layers={[
            { name: "Failed", look: "bad", values: buckets.map((bucket) => bucket.failures) },
            { name: "Not failed", look: "good", values: buckets.map((bucket) => bucket.count - bucket.failures) },
          ]}
          write={integer}
          whole
          {...(since !== undefined && { isKnown: (start) => start >= since })}
          {...SIZE}
        />
      </section>
      <section class="panel" aria-label="Records over time">
        <StackedBars
          title={`Records processed, ${of}`}
          starts={starts}
          layers={[{ name: "Records", look: "active", values: buckets.map((bucket) => bucket.records) }]}
          write={integer}
          whole
          {...(since !== undefined && { isKnown: (start) => start >= since })}
          {...SIZE}
        />
      </section>
    </div>
  );
}
