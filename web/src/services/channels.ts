import { request } from "../api/client";
import { announced, mutate, type Outcome } from "../api/mutate";
import { graphql, type VariablesOf } from "../api/tada";
import { notify } from "../state/announce";

const SetChannel = graphql(`
  mutation SetChannel($input: SetChannelInput!) {
    setChannel(input: $input) {
      channel { version }
      errors { code message path }
    }
  }
`);

const DeleteChannel = graphql(`
  mutation DeleteChannel($input: DeleteChannelInput!) {
    deleteChannel(input: $input) {
      errors { code message path }
    }
  }
`);

const ChannelDefinition = graphql(`
  query ChannelDefinition($name: String!) {
    channels(first: 1, filter: { name: { eq: $name } }) { nodes { definition version } }
  }
`);

export type ChannelSet = VariablesOf<typeof SetChannel>["input"];

/** A channel as a task file has it, with its whole URL, and its version; null if it is no longer there. */
export async function channelDefinition(
  name: string,
): Promise<{ readonly definition: unknown; readonly version: number } | null> {
  return (await request(ChannelDefinition, { name })).channels.nodes[0] ?? null;
}

/** Sets a channel, new or in the place of the old one of its name; answers its version. */
export async function setChannel(input: ChannelSet): Promise<Outcome<number>> {
  const outcome = await mutate(SetChannel, { input }, (data) => data.setChannel);
  if (!outcome.ok) return outcome;
  notify(`Channel ${input.name} is set`);
  return { ok: true, value: outcome.value.channel?.version ?? 0 };
}

/** Deletes a channel; `force`: although alarms notify it. */
export async function deleteChannel(name: string, force: boolean): Promise<Outcome<null>> {
  const outcome = await mutate(DeleteChannel, { input: { name, force } }, (data) => data.deleteChannel);
  return announced(outcome, `Channel ${name} is deleted`);
}
