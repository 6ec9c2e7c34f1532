import type { Fetcher, FetcherOpts, FetcherParams } from "@graphiql/toolkit";

/** Answers of a subscription that are shown, the newest first. */
export const KEPT = 100;

/** Whether what is going to be run is a subscription: GraphiQL hands over the document it has read. */
function isSubscription({ operationName }: FetcherParams, options: FetcherOpts | undefined): boolean {
  return (options?.documentAST?.definitions ?? []).some(
    (definition) =>
      definition.kind === "OperationDefinition" &&
      definition.operation === "subscription" &&
      (operationName == null || definition.name?.value === operationName),
  );
}

/** The answers so far, the newest first, after each one. */
export async function* lastOf<T>(
  answers: AsyncIterable<T>,
  keep = KEPT,
): AsyncGenerator<{ readonly newestFirst: readonly T[]; readonly count: number }> {
  let newestFirst: readonly T[] = [];
  let count = 0;
  for await (const answer of answers) {
    count += 1;
    newestFirst = [answer, ...newestFirst].slice(0, keep);
    yield { newestFirst, count };
  }
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** GraphiQL shows the last answer of a subscription only: with this, the last hundred. */
export function keepingEvents(fetcher: Fetcher): Fetcher {
  return async (params, options) => {
    const answer: unknown = await fetcher(params, options);
    if (!isSubscription(params, options) || !isStream(answer)) return answer as Awaited<ReturnType<Fetcher>>;
    return lastOf(answer) as unknown as Awaited<ReturnType<Fetcher>>;
  };
}
