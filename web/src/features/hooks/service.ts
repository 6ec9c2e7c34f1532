import { announced, mutate, type Outcome, report } from "../../api/mutate";
import { graphql, type VariablesOf } from "../../api/tada";
import { at } from "../../lib/base";
import { notify } from "../../state/announce";

const CreateHook = graphql(`
  mutation CreateHook($input: CreateHookInput!) {
    createHook(input: $input) {
      errors { code message path }
    }
  }
`);

const UpdateHook = graphql(`
  mutation UpdateHook($input: UpdateHookInput!) {
    updateHook(input: $input) {
      errors { code message path }
    }
  }
`);

const DeleteHook = graphql(`
  mutation DeleteHook($input: DeleteHookInput!) {
    deleteHook(input: $input) {
      errors { code message path }
    }
  }
`);

const CreateAddress = graphql(`
  mutation CreateAddress($input: CreateAddressInput!) {
    createAddress(input: $input) {
      path
      errors { code message path }
    }
  }
`);

const DeleteAddress = graphql(`
  mutation DeleteAddress($input: DeleteAddressInput!) {
    deleteAddress(input: $input) {
      errors { code message path }
    }
  }
`);

export type NewHook = VariablesOf<typeof CreateHook>["input"];
export type ChangedHook = VariablesOf<typeof UpdateHook>["input"];
export type NewAddress = VariablesOf<typeof CreateAddress>["input"];

/** The whole address of a path of the server, as others reach it like this page. */
export function urlOf(path: string): string {
  return location.origin + at(path);
}

export async function createHook(input: NewHook): Promise<Outcome<null>> {
  const outcome = await mutate(CreateHook, { input }, (data) => data.createHook);
  return announced(outcome, `Hook ${input.name} takes requests`);
}

export async function updateHook(input: ChangedHook): Promise<Outcome<null>> {
  const outcome = await mutate(UpdateHook, { input }, (data) => data.updateHook);
  return announced(outcome, `Hook ${input.name} is changed`);
}

export async function deleteHook(name: string): Promise<void> {
  if (report(await mutate(DeleteHook, { input: { name } }, (data) => data.deleteHook)))
    notify(`Hook ${name} is deleted`);
}

/** Makes an address; answers the whole of it, which is never shown again. */
export async function createAddress(input: NewAddress): Promise<Outcome<string>> {
  const outcome = await mutate(CreateAddress, { input }, (data) => data.createAddress);
  return outcome.ok ? { ok: true, value: urlOf(outcome.value.path ?? "") } : outcome;
}

export async function deleteAddress(id: string): Promise<boolean> {
  return report(await mutate(DeleteAddress, { input: { id } }, (data) => data.deleteAddress));
}

/** Puts a new address in the place of one that too many know. */
export async function rotateAddress(id: string, like: NewAddress): Promise<string | null> {
  const made = await createAddress(like);
  if (!report(made) || !(await deleteAddress(id))) return null;
  return made.value;
}
