import { graphql, type ResultOf } from "../../api/tada";
import { type DeliveryRow, DeliveryRowFragment } from "../alarms/document";

export const WebhookRowFragment = graphql(`
  fragment WebhookRow on Webhook {
    name
    url
    secrets
    document
    variables
    description
    isOrdered
    isEnabled
    state
    failures
    nextTryAt
    lastDeliveredAt
    waitingCount
    stopReason
    stopMessage
    version
    owner
    setName
    cursor
  }
`);

/** The webhooks. */
export const WebhooksDocument = graphql(
  `
  query WebhooksPage($first: Int!) {
    asOf
    serverTime
    webhooks(first: $first) {
      nodes { ...WebhookRow }
      totalCount
    }
  }
`,
  [WebhookRowFragment],
);

/** One webhook with its newest messages. */
export const WebhookDocument = graphql(
  `
  query WebhookDetails($name: String!, $first: Int!) {
    asOf
    serverTime
    webhooks(first: 1, filter: { name: { eq: $name } }) { nodes { ...WebhookRow } }
    alarmDeliveries(first: $first, filter: { channel: { eq: $name } }) {
      nodes { ...DeliveryRow }
      pageInfo { hasNextPage }
    }
    tried: alarmDeliveries(first: 1, filter: { channel: { eq: $name }, attempts: { gte: 1 } }) {
      nodes { ...DeliveryRow }
    }
  }
`,
  [WebhookRowFragment, DeliveryRowFragment],
);

export type WebhookRow = NonNullable<ResultOf<typeof WebhooksDocument>["webhooks"]>["nodes"][number];
export type { DeliveryRow };
