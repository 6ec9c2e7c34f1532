import { useLive } from "../../live/use-live";
import { Facts } from "../../parts/task-facts";
import { Action } from "../../ui/action";
import { Dialog } from "../../ui/dialog";
import { CodeView, JsonView } from "../../ui/json-view";
import { LivePart } from "../../ui/live-part";
import { Time } from "../../ui/time";
import { Answer, Message } from "../alarms/deliveries";
import { type DeliveryRow, WebhookDocument, type WebhookRow } from "./document";
import { documentName, OWN } from "./model";
import { NextTry, tellsOfWebhooks, WebhookStatus } from "./row";
import { resumeWebhook } from "./service";

/** Messages of a webhook that its dialog shows. */
const SHOWN = 20;

interface DetailsProps {
  webhook: WebhookRow;
  onClose: () => void;
  onRotate: (webhook: WebhookRow) => void;
  onRedeliver: (webhook: WebhookRow) => void;
}

/** All that is known of a webhook, with its newest messages; it is resumed here, and its secret exchanged. */
export function DetailsDialog({ webhook: known, onClose, onRotate, onRedeliver }: DetailsProps) {
  const live = useLive(`webhook/${known.name}`, {
    document: WebhookDocument,
    variables: () => ({ name: known.name, first: SHOWN }),
    init: ({ webhooks, alarmDeliveries, tried }) => ({
      webhook: webhooks?.nodes[0] ?? known,
      messages: alarmDeliveries?.nodes ?? [],
      tried: tried?.nodes[0] ?? null,
      more: alarmDeliveries?.pageInfo.hasNextPage === true,
    }),
    outdates: tellsOfWebhooks,
  });
  return (
    <Dialog title={`Webhook ${known.name}`} wide onClose={onClose} askBefore={false}>
      <LivePart live={live} rows={4}>
        {({ webhook, messages, tried, more }) => (
          <>
            <WebhookFacts webhook={webhook} tried={tried} />
            <Buttons webhook={webhook} onRotate={onRotate} onRedeliver={onRedeliver} />
            <h3>Messages</h3>
            {messages.length === 0 ? (
              <p class="dim">None was sent yet.</p>
            ) : (
              <ul class="waits">
                {messages.map((each) => (
                  <Message key={each.id} delivery={each} reload={live.reload} />
                ))}
                {more && (
                  <li>
                    <a href={`/deliveries?channel=${encodeURIComponent(webhook.name)}`}>All messages</a>
                  </li>
                )}
              </ul>
            )}
          </>
        )}
      </LivePart>
    </Dialog>
  );
}

function WebhookFacts({ webhook, tried }: { webhook: WebhookRow; tried: DeliveryRow | null }) {
  const { description, url, document, variables, secrets, isOrdered, owner, setName, lastDeliveredAt } = webhook;
  return (
    <>
      <Facts
        entries={[
          ["State", <WebhookStatus webhook={webhook} />],
          ["URL", <code>{url}</code>],
          ...(description === "" ? [] : ([["Description", description]] as const)),
          ["Last success", lastDeliveredAt === null ? "none yet" : <Time at={lastDeliveredAt} form="full" />],
          ...(tried === null ? [] : ([["Last answer", <Answer delivery={tried} />]] as const)),
          ["Next try", <NextTry webhook={webhook} />],
          ["Order", isOrdered ? "in order" : "as they come"],
          ["Signed by", secrets.length === 0 ? "none: messages are not signed" : secrets.join(", ")],
          ["Rights of", owner === "" ? "job code" : owner],
          ...(setName === null ? [] : ([["Defined in", `set ${setName}`]] as const)),
        ]}
      />
      <h3>Subscription{documentName(document) === OWN ? "" : `: ${documentName(document)}`}</h3>
      <CodeView text={document} label="subscription" />
      {Object.keys((variables as object | null) ?? {}).length > 0 && <JsonView value={variables} label="variables" />}
    </>
  );
}

type ButtonsProps = Pick<DetailsProps, "webhook" | "onRotate" | "onRedeliver">;

function Buttons({ webhook, onRotate, onRedeliver }: ButtonsProps) {
  const { name, state, waitingCount } = webhook;
  const isStopped = state === "PARKED" || state === "STOPPED";
  return (
    <div class="form-actions">
      {(isStopped || state === "FAILING") && (
        <Action class="button" onClick={() => void resumeWebhook(name, false)}>
          {isStopped ? "Resume" : "Try now"}
        </Action>
      )}
      {isStopped && waitingCount > 0 && (
        <Action class="button" onClick={() => void resumeWebhook(name, true)}>
          Skip the oldest message and resume
        </Action>
      )}
      <Action class="button" onClick={() => onRedeliver(webhook)}>
        Send again from an event
      </Action>
      <Action needs="ADMIN" class="button" onClick={() => onRotate(webhook)}>
        New secret
      </Action>
    </div>
  );
}
