import { rangeWords } from "../../model/log-filter";
import { setParams } from "../../state/route";

const SHOWN = ["24h", "7d", "30d"] as const;
export type Shown = (typeof SHOWN)[number];

/** The time that an address asks for. */
export function rangeOf(params: URLSearchParams, usual: Shown): Shown {
  return SHOWN.find((each) => each === params.get("range")) ?? usual;
}

/** Chooses how far back failures are looked at. */
export function Ranges({ range }: { range: Shown }) {
  return (
    <nav class="tabs" aria-label="Time">
      {SHOWN.map((each) => (
        <button
          key={each}
          type="button"
          class="tab"
          aria-current={each === range ? "true" : undefined}
          onClick={() => setParams({ range: each })}
        >
          last {rangeWords(each)}
        </button>
      ))}
    </nav>
  );
}
