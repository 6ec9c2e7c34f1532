import { mutate, type Outcome, report } from "../../api/mutate";
import { graphql } from "../../api/tada";
import type { Role } from "../../live/viewer";
import { notify } from "../../state/announce";

const CreateAccount = graphql(`
  mutation CreateAccount($input: CreateAccountInput!) {
    createAccount(input: $input) {
      recoveryPath
      errors { code message path }
    }
  }
`);

const UpdateAccount = graphql(`
  mutation UpdateAccount($input: UpdateAccountInput!) {
    updateAccount(input: $input) {
      recoveryPath
      errors { code message path }
    }
  }
`);

function link(path: string | null): string {
  return path === null ? "" : new URL(path, location.origin).href;
}

/** Makes an account; the answer is the link by which its owner sets a password. */
export async function addUser(name: string, role: Role): Promise<Outcome<string>> {
  const outcome = await mutate(CreateAccount, { input: { name, role } }, (data) => data.createAccount);
  return outcome.ok ? { ok: true, value: link(outcome.value.recoveryPath) } : outcome;
}

export async function setRole(name: string, role: Role): Promise<Outcome<null>> {
  const outcome = await mutate(UpdateAccount, { input: { name, role } }, (data) => data.updateAccount);
  return outcome.ok ? { ok: true, value: null } : outcome;
}

export async function setDisabled(name: string, disabled: boolean): Promise<boolean> {
  if (!report(await mutate(UpdateAccount, { input: { name, disabled } }, (data) => data.updateAccount))) return false;
  notify(disabled ? `${name} cannot sign in any more` : `${name} may sign in again`);
  return true;
}

/** Makes the link by which somebody sets a new password; null if it was refused, which is shown. */
export async function recoveryLink(name: string): Promise<string | null> {
  const outcome = await mutate(UpdateAccount, { input: { name, recovery: true } }, (data) => data.updateAccount);
  return report(outcome) ? link(outcome.value.recoveryPath) : null;
}
