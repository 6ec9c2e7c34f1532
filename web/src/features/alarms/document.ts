import { type FragmentOf, graphql, type ResultOf } from "../../api/tada";

export const FiringRowFragment = graphql(`
  fragment FiringRow on AlarmFiring {
    id
    alarmName
    severity
    subject { kind name }
    runId
    executionId
    flowId
    scheduledFor
    sentence
    explanation
    policy
    lastSuccessAt
    firedAt
    resolvedAt
    acknowledgedAt
    acknowledgedBy
    note
    isNotified
  }
`);

export const DeliveryRowFragment = graphql(`
  fragment DeliveryRow on AlarmDelivery {
    id
    channel
    event
    payload
    state
    attempts
    createdAt
    nextAttemptAt
    status
    answer
    error
  }
`);

export const AlarmRowFragment = graphql(`
  fragment AlarmRow on Alarm {
    name
    description
    isEnabled
    severity
    subject { kind name }
    sentence
    channels
    source
    owner
    silenceEndsAt
    silencedBy
    silenceReason
  }
`);

/** What fires, and the alarms. */
export const AlarmsDocument = graphql(
  `
  query AlarmsPage($first: Int!) {
    asOf
    serverTime
    alarmFirings(first: $first, filter: { isOpen: { eq: true } }) {
      nodes { ...FiringRow }
      totalCount
    }
    alarms(first: $first) {
      nodes { ...AlarmRow }
      totalCount
    }
  }
`,
  [FiringRowFragment, AlarmRowFragment],
);

/** The alarms that watch one of some things, what of them fires, and what fired last. */
export const AlarmsOfDocument = graphql(
  `
  query AlarmsOf($first: Int!, $alarms: AlarmFilter!, $open: AlarmFiringFilter!, $past: AlarmFiringFilter!) {
    asOf
    serverTime
    alarms(first: $first, filter: $alarms) { nodes { ...AlarmRow } totalCount }
    open: alarmFirings(first: $first, filter: $open) { nodes { ...FiringRow } }
    past: alarmFirings(first: 5, filter: $past) { nodes { ...FiringRow } }
  }
`,
  [FiringRowFragment, AlarmRowFragment],
);

/** One firing as it is now. */
export const FiringDocument = graphql(
  `
  query AlarmFiring($id: ID!) {
    asOf
    serverTime
    alarmFirings(first: 1, filter: { id: { eq: $id } }) { nodes { ...FiringRow } }
  }
`,
  [FiringRowFragment],
);

export const HistoryDocument = graphql(
  `
  query AlarmHistory($first: Int!, $after: String) {
    asOf
    serverTime
    alarmFirings(first: $first, after: $after, filter: { isOpen: { eq: false } }) {
      nodes { ...FiringRow }
      pageInfo { hasNextPage endCursor }
    }
  }
`,
  [FiringRowFragment],
);

export const ChannelsDocument = graphql(`
  query AlarmChannels($first: Int!) {
    asOf
    serverTime
    channels(first: $first) {
      nodes { name kind address updatedAt updatedBy setName }
      totalCount
    }
  }
`);

export const DeliveryDocument = graphql(
  `
  query AlarmDelivery($id: ID!) {
    asOf
    serverTime
    alarmDeliveries(first: 1, filter: { id: { eq: $id } }) { nodes { ...DeliveryRow } }
  }
`,
  [DeliveryRowFragment],
);

/** All messages, the newest first. */
export const AllDeliveriesDocument = graphql(
  `
  query AllDeliveries($first: Int!, $after: String, $filter: AlarmDeliveryFilter) {
    asOf
    serverTime
    alarmDeliveries(first: $first, after: $after, filter: $filter) {
      nodes { ...DeliveryRow }
      pageInfo { hasNextPage endCursor }
    }
  }
`,
  [DeliveryRowFragment],
);

/** The messages about a firing, the newest first. */
export const DeliveriesDocument = graphql(
  `
  query AlarmFiringDeliveries($id: ID!, $first: Int!) {
    asOf
    serverTime
    alarmFirings(first: 1, filter: { id: { eq: $id } }) {
      nodes { deliveries(first: $first) { nodes { ...DeliveryRow } pageInfo { hasNextPage } } }
    }
  }
`,
  [DeliveryRowFragment],
);

export type FiringRow = FragmentOf<typeof FiringRowFragment>;
export type DeliveryRow = FragmentOf<typeof DeliveryRowFragment>;
export type AlarmRow = FragmentOf<typeof AlarmRowFragment>;
export type ChannelRow = NonNullable<ResultOf<typeof ChannelsDocument>["channels"]>["nodes"][number];
