import { announced, mutate, type Outcome, report } from "../../api/mutate";
import { graphql, type ResultOf, type VariablesOf } from "../../api/tada";
import { plural } from "../../lib/format";
import { secretNames, setSecret } from "../../services/secrets";
import { notify } from "../../state/announce";
import type { WebhookRow } from "./document";
import { newSecret, rotated, secretName } from "./model";

const CreateWebhook = graphql(`
  mutation CreateWebhook($input: CreateWebhookInput!) {
    createWebhook(input: $input) {
      preview { eventCount hasMore messages }
      errors { code message path }
    }
  }
`);

const UpdateWebhook = graphql(`
  mutation UpdateWebhook($input: UpdateWebhookInput!) {
    updateWebhook(input: $input) {
      preview { eventCount hasMore messages }
      errors { code message path }
    }
  }
`);

const DeleteWebhook = graphql(`
  mutation DeleteWebhook($input: DeleteWebhookInput!) {
    deleteWebhook(input: $input) {
      errors { code message path }
    }
  }
`);

const ResumeWebhook = graphql(`
  mutation ResumeWebhook($input: ResumeWebhookInput!) {
    resumeWebhook(input: $input) {
      errors { code message path }
    }
  }
`);

const RedeliverWebhook = graphql(`
  mutation RedeliverWebhook($input: RedeliverWebhookInput!) {
    redeliverWebhook(input: $input) {
      count
      errors { code message path }
    }
  }
`);

export type NewWebhook = VariablesOf<typeof CreateWebhook>["input"];
export type ChangedWebhook = VariablesOf<typeof UpdateWebhook>["input"];
/** What a webhook would have sent about the last hour; null of one that is stored. */
export type Preview = ResultOf<typeof CreateWebhook>["createWebhook"]["preview"];

/** Says that it is done, or answers what the webhook would have sent. */
function answered(outcome: Outcome<{ readonly preview: Preview }>, done: string): Outcome<Preview> {
  if (!outcome.ok) return outcome;
  if (outcome.value.preview === null) notify(done);
  return { ok: true, value: outcome.value.preview };
}

/** Stores a webhook, or answers what it would have sent. */
export async function createWebhook(input: NewWebhook): Promise<Outcome<Preview>> {
  const outcome = await mutate(CreateWebhook, { input }, (data) => data.createWebhook);
  return answered(outcome, `Webhook ${input.name} sends from now on`);
}

/** Changes a webhook, or answers what it would have sent. */
export async function updateWebhook(input: ChangedWebhook): Promise<Outcome<Preview>> {
  const outcome = await mutate(UpdateWebhook, { input }, (data) => data.updateWebhook);
  return answered(outcome, `Webhook ${input.name} is changed`);
}

export async function deleteWebhook(name: string): Promise<void> {
  if (report(await mutate(DeleteWebhook, { input: { name } }, (data) => data.deleteWebhook)))
    notify(`Webhook ${name} is deleted`);
}

/** Lets a webhook send again; `skip` gives up the oldest message that waits. */
export async function resumeWebhook(name: string, skip: boolean): Promise<void> {
  if (report(await mutate(ResumeWebhook, { input: { name, skip } }, (data) => data.resumeWebhook)))
    notify(`Webhook ${name} sends again`);
}

export async function redeliverWebhook(name: string, after: string): Promise<Outcome<null>> {
  const outcome = await mutate(RedeliverWebhook, { input: { name, after } }, (data) => data.redeliverWebhook);
  return announced(outcome, ({ count }) => `${plural(count ?? 0, "message")} of webhook ${name} sent again`);
}

/** Stores a new secret, which signs beside those of the webhook; answers its value, which is never shown again. */
export async function rotateSecret({ name, secrets, version }: WebhookRow): Promise<string | null> {
  const [added, value] = [secretName(name, await secretNames()), newSecret()];
  if (!report(await setSecret(added, value))) return null;
  const changes = { name, expectedVersion: version, secrets: rotated(secrets, added) };
  return report(await updateWebhook(changes)) ? value : null;
}
