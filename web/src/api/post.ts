import { at } from "../lib/base";

/** The server's refusal of something that belongs to sign-in, in a sentence for people. */
export class SignInError extends Error {
  override readonly name = "SignInError";
  /** The word for it in `extensions.code`; null if no server said anything. */
  readonly code: string | null;
  constructor(message: string, { code = null, cause }: { code?: string | null; cause?: unknown } = {}) {
    super(message, { cause });
    this.code = code;
  }
}

interface Refusal {
  readonly errors?: readonly { readonly message: string; readonly extensions?: { readonly code?: string } }[];
}

/** Sends JSON to an address of sign-in and answers what comes back; throws SignInError. */
export async function post<T>(path: string, body: unknown): Promise<T> {
  let response: Response;
  let answer: Refusal;
  try {
    response = await fetch(at(path), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    answer = (await response.json()) as Refusal;
  } catch (cause) {
    throw new SignInError("The server cannot be reached", { cause });
  }
  if (response.ok) return answer as T;
  const message = answer.errors?.map((error) => error.message).join("; ");
  throw new SignInError(message ?? `The server answered ${response.status}`, {
    code: answer.errors?.[0]?.extensions?.code ?? null,
  });
}
