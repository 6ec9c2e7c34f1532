import { words } from "../../lib/format";
import { useLive } from "../../live/use-live";
import { sendAgain } from "../../services/alarms";
import { Action } from "../../ui/action";
import { Empty } from "../../ui/feedback";
import { JsonView } from "../../ui/json-view";
import { LivePart } from "../../ui/live-part";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";
import { DeliveriesDocument, DeliveryDocument, type DeliveryRow, type FiringRow } from "./document";
import { tellsOfMessages } from "./model";

/** Messages of a firing that are shown. */
const SHOWN = 100;

/** What the receiver said at the last try. */
export function Answer({ delivery: { status, answer, error } }: { delivery: DeliveryRow }) {
  if (error !== null) return <span class="tone-bad">{error}</span>;
  if (status === null && answer === null) return <span class="dim">No answer yet</span>;
  return (
    <span>
      It answered {status} <code>{answer}</code>
    </span>
  );
}

/** One message, with what its receiver said. */
export function Message({ delivery, reload }: { delivery: DeliveryRow; reload?: () => void }) {
  const { id, channel, event, state, attempts, createdAt, nextAttemptAt, payload, error } = delivery;
  return (
    <li class="wait" aria-label={`Message ${id}`}>
      <span class="wait-what">
        <span>
          <Status name={state} /> {words(event)} to {channel}, <Time at={createdAt} />, {attempts}{" "}
          {attempts === 1 ? "try" : "tries"}
        </span>
        <Answer delivery={delivery} />
        {state === "PENDING" && error !== null && nextAttemptAt !== null && (
          <span class="dim">
            The next try is <Time at={nextAttemptAt} form="countdown" />
          </span>
        )}
        <details>
          <summary class="dim">Request</summary>
          <JsonView value={payload} label={`message ${id}`} />
        </details>
      </span>
      {reload !== undefined && (
        <Action
          class="button small"
          reason={state === "PENDING" ? "It is still being sent" : null}
          aria-label={`Send message ${id} again`}
          onClick={async () => {
            if (await sendAgain(id)) reload();
          }}
        >
          Send again
        </Action>
      )}
    </li>
  );
}

/** The messages about a firing, and the answers to them. */
export function Deliveries({ firing: { id, resolvedAt } }: { firing: FiringRow }) {
  const live = useLive(`alarm-deliveries/${id}/${resolvedAt ?? ""}`, {
    document: DeliveriesDocument,
    variables: () => ({ id, first: SHOWN }),
    init: ({ alarmFirings }) => {
      const found = alarmFirings?.nodes[0]?.deliveries;
      return { about: found?.nodes ?? [], more: found?.pageInfo.hasNextPage === true };
    },
    outdates: tellsOfMessages,
    every: 500,
  });
  return (
    <LivePart live={live} rows={1}>
      {({ about, more }) =>
        about.length > 0 ? (
          <ul class="waits">
            {about.map((delivery) => (
              <Message key={delivery.id} delivery={delivery} reload={live.reload} />
            ))}
            {more && <li class="dim">Older ones are among all deliveries.</li>}
          </ul>
        ) : (
          <p class="dim">No channel was notified.</p>
        )
      }
    </LivePart>
  );
}

/** A test message with the answer to it, once it has come. */
export function TestedBy({ delivery }: { delivery: string }) {
  const live = useLive(`alarm-delivery/${delivery}`, {
    document: DeliveryDocument,
    variables: () => ({ id: delivery }),
    init: ({ alarmDeliveries }) => alarmDeliveries?.nodes ?? [],
    outdates: tellsOfMessages,
    every: 500,
  });
  return (
    <LivePart live={live} rows={1}>
      {(messages) =>
        messages.length === 0 ? (
          <Empty title="The message is no longer there" />
        ) : (
          <ul class="waits">
            {messages.map((each) => (
              <Message key={each.id} delivery={each} />
            ))}
          </ul>
        )
      }
    </LivePart>
  );
}
