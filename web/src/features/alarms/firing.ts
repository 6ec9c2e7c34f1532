import { graphql } from "../../api/tada";
import { useLive } from "../../live/use-live";
import { UNSEEN_FIRINGS } from "../../state/alarms";
import type { Subject } from "./conditions";
import { aboutAny } from "./model";

const FiringDocument = graphql(`
  query FiringOf($filter: AlarmFiringFilter!) {
    asOf
    alarmFirings(first: 0, filter: $filter) { totalCount }
  }
`);

/** How many alarms fire about one of some things that nobody takes care of. */
export function useFiring(watched: readonly Subject[]): number {
  const { state } = useLive(`firing-of/${JSON.stringify(watched)}`, {
    document: FiringDocument,
    variables: () => ({ filter: { ...aboutAny(watched), ...UNSEEN_FIRINGS } }),
    init: ({ alarmFirings }) => alarmFirings?.totalCount ?? 0,
    outdates: ({ kind }) => kind.startsWith("ALARM_"),
  });
  return state ?? 0;
}
