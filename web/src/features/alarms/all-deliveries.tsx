import { useEffect, useMemo, useState } from "preact/hooks";
import { plural, words } from "../../lib/format";
import { setTitle } from "../../live/title";
import { useLive } from "../../live/use-live";
import { ClearFilters } from "../../parts/filters";
import { sendAgain } from "../../services/alarms";
import { searchParams } from "../../state/route";
import { Action } from "../../ui/action";
import { type Column, DataTable } from "../../ui/data-table";
import { Dialog } from "../../ui/dialog";
import { Empty } from "../../ui/feedback";
import { LivePart } from "../../ui/live-part";
import { Name } from "../../ui/name";
import { Pager } from "../../ui/pager";
import { PageHead } from "../../ui/section";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";
import { Permitted } from "../admin/permitted";
import { SearchBar } from "../search/bar";
import { filtersOf, type Vocabulary } from "../search/model";
import { Answer, Message } from "./deliveries";
import { AllDeliveriesDocument, type DeliveryRow } from "./document";
import { alarmsIn, resultsIn, tellsOfMessages } from "./model";

const PAGE = 50;
const STATES = ["PENDING", "SENT", "FAILED"] as const;
const EVENTS = ["FIRED", "RESOLVED", "EVENTS", "TEST"] as const;
const SEARCH: Vocabulary = {
  label: "Channel",
  param: "channel",
  terms: [
    {
      prefix: "state:",
      param: "state",
      label: "State",
      options: [
        ["pending", "pending"],
        ["sent", "accepted"],
        ["failed", "failed"],
      ],
    },
    { prefix: "what:", param: "event", label: "What", options: EVENTS.map((event) => [words(event), words(event)]) },
  ],
};
const FILTERS = filtersOf(SEARCH);

function deliveryFilter(params: URLSearchParams) {
  const channel = params.get("channel") ?? "";
  const state = STATES.find((each) => words(each) === params.get("state"));
  const event = EVENTS.find((each) => words(each) === params.get("event"));
  return {
    ...(channel !== "" && { channel: { contains: channel } }),
    ...(state !== undefined && { state: { eq: state } }),
    ...(event !== undefined && { event: { eq: event } }),
  };
}

interface Context {
  show(delivery: DeliveryRow): void;
  again(delivery: DeliveryRow): void;
}

const COLUMNS: readonly Column<DeliveryRow, Context>[] = [
  {
    key: "state",
    title: "State",
    width: 112,
    rank: 0,
    card: "pair",
    bare: true,
    cell: ({ state }) => <Status name={state} />,
  },
  {
    key: "what",
    title: "About",
    width: 130,
    grow: 1,
    rank: 0,
    card: "title",
    name: (delivery) => alarmsIn(delivery).join(", "),
    cell: (delivery) => {
      const alarms = alarmsIn(delivery);
      const results = resultsIn(delivery);
      return (
        <>
          {alarms.length === 0 ? words(delivery.event) : <Name text={alarms[0] ?? ""} />}{" "}
          {results > 0 && <span class="cell-sub dim">{plural(results, "result")}</span>}
          {alarms.length > 0 && (
            <span class="cell-sub dim">
              {words(delivery.event)}
              {alarms.length > 1 && `, and ${plural(alarms.length - 1, "more alarm")}`}
            </span>
          )}
        </>
      );
    },
  },
  {
    key: "channel",
    title: "Channel",
    width: 100,
    grow: 1,
    rank: 0,
    card: "pair",
    cell: ({ channel }) => <Name text={channel} />,
  },
  {
    key: "created",
    title: "Since",
    width: 104,
    rank: 2,
    card: "pair",
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
  {
    key: "tries",
    title: "Tries",
    width: 64,
    rank: 3,
    card: "pair",
    number: true,
    cell: ({ attempts }) => <span class="num">{attempts}</span>,
  },
  {
    key: "answer",
    title: "Answer",
    width: 190,
    grow: 6,
    rank: 1,
    card: "wide",
    bare: true,
    cell: (delivery) => (
      <>
        <Answer delivery={delivery} />{" "}
        {delivery.state === "PENDING" && delivery.error !== null && delivery.nextAttemptAt !== null && (
          <span class="cell-sub dim">
            The next try is <Time at={delivery.nextAttemptAt} form="countdown" />
          </span>
        )}
      </>
    ),
  },
  {
    key: "actions",
    title: "Actions",
    untitled: true,
    width: 190,
    rank: 0,
    card: "wide",
    cell: (delivery, { show, again }) => (
      <span class="row-actions spaced">
        <button
          type="button"
          class="button small"
          data-key="Enter"
          aria-label={`Details of message ${delivery.id}`}
          onClick={() => show(delivery)}
        >
          Details
        </button>
        <Action
          class="button small"
          reason={delivery.state === "PENDING" ? "It is still being sent" : null}
          aria-label={`Send message ${delivery.id} again`}
          onClick={() => again(delivery)}
        >
          Send again
        </Action>
      </span>
    ),
  },
];

function Deliveries() {
  const params = searchParams.value;
  const after = params.get("after");
  const key = `deliveries?${["after", ...FILTERS].map((name) => params.get(name) ?? "").join("&")}`;
  const live = useLive(key, {
    document: AllDeliveriesDocument,
    variables: () => ({ first: PAGE, after, filter: deliveryFilter(params) }),
    init: ({ alarmDeliveries }) => ({
      rows: alarmDeliveries?.nodes ?? [],
      more: alarmDeliveries?.pageInfo.hasNextPage ?? false,
      end: alarmDeliveries?.pageInfo.endCursor ?? null,
    }),
    outdates: tellsOfMessages,
  });
  const [shown, setShown] = useState<string | null>(null);
  const { reload } = live;
  const context = useMemo(
    (): Context => ({
      show: ({ id }) => setShown(id),
      again: ({ id }) => void sendAgain(id).then((done) => done && reload()),
    }),
    [key],
  );
  const filtered = FILTERS.some((name) => params.has(name));
  const opened = live.state?.rows.find(({ id }) => id === shown);
  return (
    <>
      <PageHead title="Deliveries">
        <a class="button" href="/alarms">
          Alarms
        </a>
        <a class="button" href="/webhooks">
          Webhooks
        </a>
      </PageHead>
      <p class="page-sub dim">
        What was sent to channels and webhooks, with the request, what the receiver answered, and when it is tried
        again.
      </p>
      <SearchBar vocabulary={SEARCH} />
      <LivePart live={live} rows={6}>
        {({ rows, more, end }) => (
          <section class="panel" aria-label="Deliveries">
            {rows.length === 0 ? (
              <Empty title={filtered ? "No message matches" : "Nothing was sent yet"}>
                {filtered ? (
                  <ClearFilters names={FILTERS} />
                ) : (
                  <>
                    <p class="dim">
                      An alarm that notifies a channel sends it a message when it fires, and when it is over.
                    </p>
                    <a class="button" href="/alarms">
                      Alarms and channels
                    </a>
                    <p class="dim">A webhook gets a message about each event that its document asks for.</p>
                    <a class="button" href="/webhooks">
                      Webhooks
                    </a>
                  </>
                )}
              </Empty>
            ) : (
              <DataTable id="deliveries" columns={COLUMNS} context={context} rows={rows} rowId={({ id }) => id} tall />
            )}
            <Pager after={after ?? ""} end={end} more={more} shown={rows.length} />
          </section>
        )}
      </LivePart>
      {opened !== undefined && (
        <Dialog title={`Message ${opened.id}`} wide onClose={() => setShown(null)} askBefore={false}>
          <ul class="waits">
            <Message delivery={opened} reload={live.reload} />
          </ul>
        </Dialog>
      )}
    </>
  );
}

/** All messages to channels and webhooks. */
export function AllDeliveries() {
  useEffect(() => setTitle("Deliveries"), []);
  return (
    <Permitted needs="OPERATOR" title="Deliveries">
      <Deliveries />
    </Permitted>
  );
}
