/** Passkeys in this browser: what the server asks for goes to the device, and what it answers back. */
import { post, SignInError } from "./post";

interface DescriptorJson {
  readonly id: string;
  readonly type: "public-key";
}

interface OptionsJson {
  readonly challenge: string;
  readonly user?: { readonly id: string; readonly name: string; readonly displayName: string };
  readonly excludeCredentials?: readonly DescriptorJson[];
  readonly allowCredentials?: readonly DescriptorJson[];
}

/** Whether this browser knows passkeys at all: it does not where the page came neither by TLS nor from localhost. */
export function knowsPasskeys(): boolean {
  return typeof PublicKeyCredential === "function";
}

/** Bytes as the server writes them: base64url without padding. */
export function toBytes(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

export function toText(bytes: ArrayBuffer): string {
  const binary = Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Makes a passkey on this device and registers it; throws SignInError. */
export async function addPasskey(name: string): Promise<void> {
  const options = await post<OptionsJson>("/auth/passkey/registration/challenge", null);
  const made = await asked(() =>
    navigator.credentials.create({ publicKey: withBytes(options) as unknown as PublicKeyCredentialCreationOptions }),
  );
  const response = made.response as AuthenticatorAttestationResponse;
  const credential = {
    ...head(made),
    response: {
      clientDataJSON: toText(response.clientDataJSON),
      attestationObject: toText(response.attestationObject),
    },
  };
  await post("/auth/passkey/registration", { name, credential });
}

/** Signs in by a passkey of this device; throws SignInError. */
export async function signInByPasskey(): Promise<void> {
  const options = await post<OptionsJson>("/auth/passkey/challenge", null);
  const found = await asked(() =>
    navigator.credentials.get({ publicKey: withBytes(options) as unknown as PublicKeyCredentialRequestOptions }),
  );
  const response = found.response as AuthenticatorAssertionResponse;
  const parts = {
    clientDataJSON: response.clientDataJSON,
    authenticatorData: response.authenticatorData,
    signature: response.signature,
  };
  const written = Object.fromEntries(Object.entries(parts).map(([part, bytes]) => [part, toText(bytes)]));
  await post("/auth/passkey", { credential: { ...head(found), response: written } });
}

function head(credential: PublicKeyCredential): { id: string; rawId: string; type: string } {
  return { id: credential.id, rawId: toText(credential.rawId), type: credential.type };
}

function withBytes(options: OptionsJson): Record<string, unknown> {
  const listed = (all: readonly DescriptorJson[] | undefined) =>
    (all ?? []).map((one) => ({ ...one, id: toBytes(one.id) }));
  return {
    ...options,
    challenge: toBytes(options.challenge),
    ...(options.user && { user: { ...options.user, id: toBytes(options.user.id) } }),
    ...(options.excludeCredentials && { excludeCredentials: listed(options.excludeCredentials) }),
    ...(options.allowCredentials && { allowCredentials: listed(options.allowCredentials) }),
  };
}

/** What browsers say when a passkey comes to nothing, in our words. */
const REASONS: Readonly<Record<string, string>> = {
  NotAllowedError:
    "No passkey was used: it was cancelled, took too long, or there is none for this site on this device.",
  InvalidStateError: "This device has a passkey for this account already.",
  SecurityError: "Passkeys do not work under this address; open the server by its name.",
};

async function asked(ask: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  try {
    return (await ask()) as PublicKeyCredential;
  } catch (cause) {
    const name = cause instanceof DOMException ? cause.name : "";
    throw new SignInError(REASONS[name] ?? `The browser could not use a passkey: ${String(cause)}`, { cause });
  }
}
