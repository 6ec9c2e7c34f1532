import { ExecutionRowFragment, RunRowFragment } from "../../api/fragments";
import { graphql, type ResultOf } from "../../api/tada";

/** A run with its newest attempts, and what was made of it. */
export const RunDocument = graphql(
  `
  query RunPage($id: ID!) {
    asOf
    serverTime
    run(id: $id) {
      ...RunRow
      args
      result
      timeout
      resources { cpus memory gpus image queue options }
      retryDelay
      uniqueKey
      concurrencyKey
      maxConcurrent
      isPlaceKept
      rateKey
      expiresAt
      skipReason
      flowPlace { flowId key }
      submitter
      cancelReason
      explain { code sentence details changesAt run { id } }
      retriedFrom { id }
      task { id }
      executions(first: 50, orderBy: [{ field: ID, direction: DESC }]) {
        nodes { ...ExecutionRow isRecovered }
        pageInfo { hasNextPage }
      }
    }
    retries: runs(first: 20, filter: { retriedFrom: { eq: $id } }, orderBy: [{ field: ID }]) { nodes { id state } }
  }
`,
  [RunRowFragment, ExecutionRowFragment],
);

type Data = ResultOf<typeof RunDocument>;
export type RunDetail = NonNullable<Data["run"]>;
export type Retries = Data["retries"]["nodes"];
