import { at } from "../lib/base";
import { notify } from "../state/announce";
import { signInAgain } from "./sign-in";
import { refusesHash, type SentDocument, sentDocument, type TadaDocumentNode } from "./tada";

/** One entry of a GraphQL answer's `errors`. */
export interface ApiErrorEntry {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/** Classes of errors that are not a matter of the request. */
const PASSING: ReadonlySet<unknown> = new Set(["UNAVAILABLE", "INTERNAL_SERVER_ERROR"]);

/** The server answered, and refused: its message, and the id under which the server logged it. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly id: string | null;
  /**
   * Whether the same request may succeed later: the server was busy, starting or stopping, or had a fault of its own.
   */
  readonly passes: boolean;
  /** The stable word for what is wrong, such as `LIMIT_SORTED_ROWS`. */
  readonly code: string | null;
  /** How much a limit allows that was passed. */
  readonly maximum: number | null;
  constructor(readonly entries: readonly ApiErrorEntry[]) {
    super(entries.map((entry) => entry.message).join("; ") || "The server refused the request without a reason");
    const { id, code, maximum } = entries[0]?.extensions ?? {};
    this.code = typeof code === "string" ? code : null;
    this.maximum = typeof maximum === "number" ? maximum : null;
    this.id = typeof id === "string" ? id : null;
    this.passes = entries.some((entry) => PASSING.has(entry.extensions?.["classification"]));
  }
}

/** No usable answer: the server cannot be reached or did not speak GraphQL. */
export class LinkError extends Error {
  override readonly name = "LinkError";
}

const named = new Set<string>();

/** The data of an answer, which names each row that its lists leave out once. Throws ApiError for any other error. */
export function dataBeside<R>(data: R | null | undefined, errors: readonly ApiErrorEntry[]): R | null | undefined {
  const leavesOut = (entry: ApiErrorEntry): boolean => entry.extensions?.["code"] === "UNREADABLE_ROW" && !entry.path;
  if (errors.length > 0 && (!data || !errors.every(leavesOut))) throw new ApiError(errors);
  for (const { message } of errors) {
    if (!named.has(message)) notify(`A row was left out: ${message}`, { tone: "bad" });
    named.add(message);
  }
  return data;
}

interface Answer<R> {
  readonly data?: R | null;
  readonly errors?: readonly ApiErrorEntry[];
}

function isAnswer(value: unknown): value is Answer<never> {
  return typeof value === "object" && value !== null && ("data" in value || "errors" in value);
}

async function readAnswer(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch (cause) {
    throw new LinkError(`The server answered ${response.status} ${response.statusText} without JSON`, { cause });
  }
}

/**
 * Milliseconds after which an answer is no longer waited for: a connection that hangs must not hold a page for ever.
 */
const LONGEST_ANSWER = 60_000;

/** The session has ended, or there was none. */
const SIGNED_OUT = 401;

/**
 * Sends one query or mutation to `/graphql`; throws ApiError or LinkError. If the session has ended it is sent again
 * once there is another one.
 */
export async function request<R, V>(document: TadaDocumentNode<R, V>, variables: V, signal?: AbortSignal): Promise<R> {
  return answered(document, async (sent) => {
    let response = await send(sent, variables, signal);
    while (response.status === SIGNED_OUT) {
      await signInAgain();
      response = await send(sent, variables, signal);
    }
    return response;
  });
}

/** The same without asking anybody to sign in. */
export async function requestOnce<R, V>(document: TadaDocumentNode<R, V>, variables: V): Promise<R> {
  return answered(document, (sent) => send(sent, variables));
}

/** Sends a document by its hash, and by its text if the server does not know that. */
async function answered<R, V>(
  document: TadaDocumentNode<R, V>,
  ask: (sent: SentDocument) => Promise<Response>,
): Promise<R> {
  const sent = sentDocument(document);
  const answer = await answerOf<R>(await ask(sent));
  const again = refusesHash(sent, answer.errors ?? []);
  const { data, errors } = again ? await answerOf<R>(await ask(sentDocument(document))) : answer;
  return dataBeside(data, errors ?? []) as R;
}

async function send(sent: SentDocument, variables: unknown, signal?: AbortSignal): Promise<Response> {
  try {
    return await fetch(at("/graphql"), {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/graphql-response+json, application/json" },
      body: JSON.stringify({ ...sent, variables }),
      signal:
        signal === undefined
          ? AbortSignal.timeout(LONGEST_ANSWER)
          : AbortSignal.any([signal, AbortSignal.timeout(LONGEST_ANSWER)]),
    });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new LinkError("The server cannot be reached", { cause });
  }
}

async function answerOf<R>(response: Response): Promise<Answer<R>> {
  const answer = await readAnswer(response);
  if (!isAnswer(answer)) throw new LinkError(`The server answered ${response.status} ${response.statusText}`);
  return answer;
}
