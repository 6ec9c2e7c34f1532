import { mutate, type Outcome, report, type UserError } from "../../api/mutate";
import { addPasskey } from "../../api/passkeys";
import { post, SignInError } from "../../api/post";
import { renewing } from "../../api/sign-in";
import { graphql } from "../../api/tada";
import { link } from "../../live";
import type { Role } from "../../live/viewer";
import { notify } from "../../state/announce";

const CreateApiToken = graphql(`
  mutation CreateApiToken($input: CreateApiTokenInput!) {
    createApiToken(input: $input) {
      secret
      errors { code message path }
    }
  }
`);

const RevokeApiToken = graphql(`
  mutation RevokeApiToken($input: RevokeApiTokenInput!) {
    revokeApiToken(input: $input) {
      errors { code message path }
    }
  }
`);

const EndSessions = graphql(`
  mutation EndSessions($input: EndSessionsInput!) {
    endSessions(input: $input) {
      ended
      errors { code message path }
    }
  }
`);

const RenamePasskey = graphql(`
  mutation RenamePasskey($input: RenamePasskeyInput!) {
    renamePasskey(input: $input) {
      errors { code message path }
    }
  }
`);

const DeletePasskey = graphql(`
  mutation DeletePasskey($input: DeletePasskeyInput!) {
    deletePasskey(input: $input) {
      errors { code message path }
    }
  }
`);

const DeleteIdentity = graphql(`
  mutation DeleteIdentity($input: DeleteIdentityInput!) {
    deleteIdentity(input: $input) {
      errors { code message path }
    }
  }
`);

const DAY = 86_400_000;

/** Makes a token; the answer holds its secret, which the server shows this once. */
export async function createToken(name: string, role: Role, days: number | null): Promise<Outcome<string>> {
  const expiresAt = days === null ? null : new Date(Date.now() + days * DAY).toISOString();
  const outcome = await mutate(CreateApiToken, { input: { name, role, expiresAt } }, (data) => data.createApiToken);
  return outcome.ok ? { ok: true, value: outcome.value.secret ?? "" } : outcome;
}

export async function revokeToken(id: string, name: string): Promise<boolean> {
  if (!report(await mutate(RevokeApiToken, { input: { id } }, (data) => data.revokeApiToken))) return false;
  notify(`Token ${name} is revoked`);
  return true;
}

/** Ends one sign-in, or all but this one. */
export async function endSessions(id: string | null): Promise<boolean> {
  const input = { sessions: id === null ? { others: true } : { id } };
  const outcome = await mutate(EndSessions, { input }, (data) => data.endSessions);
  if (!report(outcome)) return false;
  notify(outcome.value.ended === 1 ? "One sign-in has ended" : `${outcome.value.ended} sign-ins have ended`);
  return true;
}

/** Which field of the form a refusal is about, and what it says there. */
function passwordFault({ code, message }: SignInError): UserError {
  if (code === "WRONG_CREDENTIALS") return { code, message: "This is not your password.", path: ["current"] };
  return { code: code ?? "REQUEST_FAILED", message, path: code === "INVALID_INPUT" ? ["password"] : [] };
}

/** Sets one's own password; all other sign-ins of the account end. */
export async function changePassword(current: string, password: string, again: string): Promise<Outcome<null>> {
  if (password !== again)
    return {
      ok: false,
      errors: [{ code: "INVALID_INPUT", message: "This is not the same password.", path: ["again"] }],
    };
  try {
    await renewing(post("/auth/change-password", { current, password }));
  } catch (error) {
    if (!(error instanceof SignInError)) throw error;
    return { ok: false, errors: [passwordFault(error)] };
  }
  // The session that the connection was opened with has ended, and this browser has another.
  link.reconnect();
  notify("Your password is changed");
  return { ok: true, value: null };
}

/** Makes a passkey on this device. */
export async function createPasskey(name: string): Promise<Outcome<null>> {
  try {
    await addPasskey(name);
  } catch (error) {
    if (!(error instanceof SignInError)) throw error;
    return { ok: false, errors: [{ code: "PASSKEY_FAILED", message: error.message, path: [] }] };
  }
  notify(`Passkey ${name} is registered`);
  return { ok: true, value: null };
}

export async function renamePasskey(id: string, name: string): Promise<Outcome<null>> {
  const outcome = await mutate(RenamePasskey, { input: { id, name } }, (data) => data.renamePasskey);
  return outcome.ok ? { ok: true, value: null } : outcome;
}

export async function deletePasskey(id: string, name: string): Promise<boolean> {
  if (!report(await mutate(DeletePasskey, { input: { id } }, (data) => data.deletePasskey))) return false;
  notify(`Passkey ${name} is deleted`);
  return true;
}

export async function disconnect(id: string, provider: string): Promise<boolean> {
  if (!report(await mutate(DeleteIdentity, { input: { id } }, (data) => data.deleteIdentity))) return false;
  notify(`${provider} is disconnected`);
  return true;
}
