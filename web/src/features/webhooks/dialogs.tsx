import { useState } from "preact/hooks";
import type { Outcome } from "../../api/mutate";
import { plural } from "../../lib/format";
import { Field, Select, TextInput } from "../../ui/field";
import { FormDialog } from "../../ui/form-dialog";
import { JsonView } from "../../ui/json-view";
import { TextLines } from "../../ui/more-fields";
import { SecretsChoice } from "../hooks/dialogs";
import type { WebhookRow } from "./document";
import { DOCUMENTS, documentName, OWN, readVariables, variablesText } from "./model";
import { createWebhook, type Preview, redeliverWebhook, updateWebhook } from "./service";

const READY: readonly (readonly [string, string])[] = [
  ...Object.keys(DOCUMENTS).map((name) => [name, name.replaceAll("-", " ")] as const),
  [OWN, "one of your own"],
];
const ORDERS = [
  ["any", "as they come, up to four at once"],
  ["ordered", "in order, each once the one before it was accepted"],
] as const;
const FAULTY = {
  code: "INVALID_INPUT",
  message: 'variables: must be a JSON object, e.g. {"job": "import_orders"}',
  path: ["variables"],
};

interface WebhookDialogProps {
  /** The webhook to change; unless given, one is made. */
  webhook?: WebhookRow;
  onClose: () => void;
  onDone: () => void;
}

/** Asks what a webhook sends, and where to; on demand it shows what it would have sent about the last hour. */
export function WebhookDialog({ webhook, onClose, onDone }: WebhookDialogProps) {
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [chosen, setChosen] = useState(webhook === undefined ? "executions" : documentName(webhook.document));
  const [own, setOwn] = useState(webhook?.document ?? DOCUMENTS["runs"] ?? "");
  const [variables, setVariables] = useState(variablesText(webhook?.variables));
  const [secrets, setSecrets] = useState<readonly string[]>(webhook?.secrets ?? []);
  const [order, setOrder] = useState(webhook?.isOrdered === true ? "ordered" : "any");
  const [preview, setPreview] = useState<Preview>(null);
  const send = async (dryRun: boolean): Promise<Outcome<Preview>> => {
    const read = readVariables(variables);
    if (read === undefined) return { ok: false, errors: [FAULTY] };
    const document = DOCUMENTS[chosen] ?? own;
    const said = { document, secrets: [...secrets], ordered: order === "ordered", ...(dryRun && { dryRun }) };
    if (webhook === undefined)
      return createWebhook({ name: name.trim(), url: url.trim(), ...said, ...(read !== null && { variables: read }) });
    // What stays as it is, is not sent: who changes it lends the webhook their rights.
    const changes = {
      ...(url.trim() !== "" && { url: url.trim() }),
      ...(document !== webhook.document && { document }),
      ...(variables !== variablesText(webhook.variables) && { variables: read }),
      ...(secrets.join() !== webhook.secrets.join() && { secrets: [...secrets] }),
    };
    const { document: _, secrets: __, ...rest } = said;
    return updateWebhook({ name: webhook.name, expectedVersion: webhook.version, ...rest, ...changes });
  };
  const tryIt = async (): Promise<Outcome<Preview>> => {
    const outcome = await send(true);
    setPreview(outcome.ok ? outcome.value : null);
    return outcome;
  };
  return (
    <FormDialog
      title={webhook === undefined ? "New webhook" : `Webhook ${webhook.name}`}
      action={webhook === undefined ? "Create it" : "Save"}
      needs="OPERATOR"
      onClose={onClose}
      send={() => send(false)}
      onDone={onDone}
      trial={{ action: "Try it", send: tryIt }}
    >
      {(fault) => (
        <>
          {webhook === undefined && (
            <Field label="Name" error={fault("name")}>
              <TextInput value={name} onChange={setName} invalid={fault("name") !== undefined} />
            </Field>
          )}
          <Field
            label="URL"
            hint={webhook === undefined ? "Messages are posted to it" : "Empty: as it is"}
            error={fault("url")}
          >
            <TextInput
              value={url}
              onChange={setUrl}
              invalid={fault("url") !== undefined}
              placeholder={webhook?.url ?? "https://example.com/hook"}
            />
          </Field>
          <Field
            label="It posts"
            hint="The results of this subscription"
            error={chosen === OWN ? undefined : fault("document")}
          >
            <Select value={chosen} onChange={setChosen} options={READY} />
          </Field>
          {chosen === OWN && (
            <Field label="Subscription" error={fault("document")}>
              <TextLines value={own} onChange={setOwn} invalid={fault("document") !== undefined} mono />
            </Field>
          )}
          <Field label="Variables" hint="A JSON object; empty: none" error={fault("variables")}>
            <TextInput value={variables} onChange={setVariables} invalid={fault("variables") !== undefined} mono />
          </Field>
          <Field label="Messages are sent" error={fault("ordered")}>
            <Select value={order} onChange={setOrder} options={ORDERS} />
          </Field>
          <SecretsChoice
            label="Secrets that sign, at most 3"
            hint="Each signs, so that a receiver can be moved from one to the next. None: messages are not signed."
            without="messages are not signed until you press “New secret” at its details."
            chosen={secrets}
            onChange={setSecrets}
            fault={fault("secrets")}
          />
          {preview !== null && <Previewed preview={preview} />}
        </>
      )}
    </FormDialog>
  );
}

function Previewed({ preview: { eventCount, hasMore, messages } }: { preview: NonNullable<Preview> }) {
  return (
    <section aria-label="Trial" role="status">
      <p>
        About the last hour it would have sent {hasMore && "at least "}
        {plural(eventCount, "result")} in {plural(messages.length, "message")}
        {messages.length === 10 && " or more"}.
      </p>
      {messages.length > 0 && <JsonView value={messages} label="messages of the trial" />}
    </section>
  );
}

interface RedeliverProps {
  webhook: WebhookRow;
  onClose: () => void;
  onDone: () => void;
}

/** Asks behind which event messages are sent again. */
export function RedeliverDialog({ webhook: { name, cursor }, onClose, onDone }: RedeliverProps) {
  const [after, setAfter] = useState("");
  return (
    <FormDialog
      title={`Send messages of ${name} again?`}
      action="Send again"
      needs="OPERATOR"
      onClose={onClose}
      send={() => redeliverWebhook(name, after.trim())}
      onDone={onDone}
    >
      {(fault) => (
        <>
          <p>
            The messages of the last 7 days that have results behind this event are sent again, each with its id. Each
            message has the <code>cursor</code> of its last result; that of the newest is{" "}
            <code>{cursor ?? "none"}</code>.
          </p>
          <Field label="Behind the event" hint="0.0: all that are kept" error={fault("after")}>
            <TextInput value={after} onChange={setAfter} invalid={fault("after") !== undefined} mono />
          </Field>
        </>
      )}
    </FormDialog>
  );
}
