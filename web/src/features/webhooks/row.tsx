import type { LiveEvent } from "../../api/fragments";
import { plural } from "../../lib/format";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";
import { tellsOfMessages } from "../alarms/model";
import type { WebhookRow } from "./document";

/** Whether an event tells of webhooks or their messages. */
export function tellsOfWebhooks(event: Pick<LiveEvent, "kind">): boolean {
  return event.kind === "WEBHOOK_UPDATED" || tellsOfMessages(event);
}

/** The state of a webhook, with the reason why it sends nothing. */
export function WebhookStatus({ webhook: { state, stopMessage } }: { webhook: WebhookRow }) {
  return (
    <>
      <Status name={state === "STOPPED" ? "SWITCHED_OFF" : state} />{" "}
      {stopMessage !== null && <span class="cell-sub tone-bad">{stopMessage}</span>}
    </>
  );
}

/** When a webhook is tried again, and how many messages wait for that. */
export function NextTry({ webhook: { state, nextTryAt, waitingCount } }: { webhook: WebhookRow }) {
  const sends = state === "ACTIVE" || state === "FAILING";
  return (
    <>
      {sends && nextTryAt !== null && <Time at={nextTryAt} form="countdown" />}{" "}
      <span class={waitingCount > 0 ? "cell-sub" : "cell-sub dim"}>
        {waitingCount > 0 ? `${plural(waitingCount, "message")} waiting` : "nothing waits"}
      </span>
    </>
  );
}
