import { useEffect, useState } from "preact/hooks";
import { request } from "../api/client";
import { announced, mutate, type Outcome, report } from "../api/mutate";
import { graphql } from "../api/tada";
import { notify } from "../state/announce";

const SetSecret = graphql(`
  mutation SetSecret($input: SetSecretInput!) {
    setSecret(input: $input) {
      errors { code message path }
    }
  }
`);

const DeleteSecret = graphql(`
  mutation DeleteSecret($input: DeleteSecretInput!) {
    deleteSecret(input: $input) {
      errors { code message path }
    }
  }
`);

const SecretNames = graphql(`
  query SecretNames {
    secrets(first: 200) { nodes { name } }
  }
`);

/** The names of the stored secrets. */
export async function secretNames(signal?: AbortSignal): Promise<readonly string[]> {
  return (await request(SecretNames, {}, signal)).secrets.nodes.map((secret) => secret.name);
}

/** The names of the stored secrets, for forms; null until the answer is there. */
export function useSecretNames(): readonly string[] | null {
  const [names, setNames] = useState<readonly string[] | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    secretNames(controller.signal).then(setNames, (error: unknown) => {
      if (!controller.signal.aborted)
        notify(`The secrets could not be listed: ${error instanceof Error ? error.message : String(error)}`, {
          tone: "bad",
        });
    });
    return () => controller.abort();
  }, []);
  return names;
}

/** Keeps a value, which is never shown again. */
export async function setSecret(name: string, value: string): Promise<Outcome<null>> {
  const outcome = await mutate(SetSecret, { input: { name, value } }, (data) => data.setSecret);
  return announced(outcome, `Secret ${name} is set`);
}

export async function deleteSecret(name: string): Promise<boolean> {
  if (!report(await mutate(DeleteSecret, { input: { name } }, (data) => data.deleteSecret))) return false;
  notify(`Secret ${name} is deleted`);
  return true;
}
