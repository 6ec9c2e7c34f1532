import { graphql, type ResultOf } from "../../api/tada";

/** The hooks, and the addresses for programs without an account. */
export const HooksDocument = graphql(`
  query HooksPage($first: Int!) {
    asOf
    serverTime
    hooks(first: $first) {
      nodes { name path jobName kind secrets argument description isEnabled version updatedAt }
      totalCount
    }
    addresses(first: $first) {
      nodes { id kind taskName createdAt createdBy }
      totalCount
    }
  }
`);

type Answer = ResultOf<typeof HooksDocument>;
export type HookRow = NonNullable<Answer["hooks"]>["nodes"][number];
export type AddressRow = NonNullable<Answer["addresses"]>["nodes"][number];
