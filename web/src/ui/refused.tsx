import { ApiError } from "../api/client";
import { type ListWords, refusalWords, shorterSpans } from "../model/refusal";
import { searchParams, setParams } from "../state/route";
import { ErrorBox } from "./feedback";

/** A list as one speaks of it, and what makes it shorter. */
export interface Narrowing extends ListWords {
  /** The parameter of the address for a span of time, and its values in words, longest last. */
  readonly spans?: { readonly param: string; readonly words: ReadonlyMap<string, string> };
  /** The order that any number of rows can have, and its parameter; without it, there is no other. */
  readonly usual?: { readonly param: string; readonly words: string };
  /** Terms of the search field that an index serves: `task:`. */
  readonly terms?: readonly string[];
}

interface RefusedProps {
  error: Error;
  retry: () => void;
  narrowing: Narrowing;
}

/** What is wrong with a list; where it has too many rows for what is asked of it, with ways to fewer. */
export function Refused({ error, retry, narrowing }: RefusedProps) {
  const words = error instanceof ApiError ? refusalWords(error, narrowing) : null;
  if (words === null) return <ErrorBox error={error} retry={retry} />;
  return (
    <ErrorBox error={error} retry={retry} words={words}>
      <Ways {...narrowing} />
    </ErrorBox>
  );
}

function Ways({ spans, usual, terms = [] }: Narrowing) {
  const params = searchParams.value;
  const shorter = spans === undefined ? [] : shorterSpans([...spans.words.keys()], params.get(spans.param) ?? "");
  const other = usual !== undefined && params.has(usual.param) ? usual : null;
  return (
    <>
      {terms.length > 0 && (
        <p>
          Fewer rows are found quickly by{" "}
          {terms.map((term, index) => (
            <>
              {index > 0 && (index === terms.length - 1 ? " or " : ", ")}
              <code>{term}</code>
            </>
          ))}{" "}
          in the search field.
        </p>
      )}
      {(shorter.length > 0 || other !== null) && (
        <div class="ways">
          {shorter.map((span) => (
            <button
              key={span}
              type="button"
              class="button"
              onClick={() => spans && setParams({ [spans.param]: span, after: null })}
            >
              {spans?.words.get(span)}
            </button>
          ))}
          {other !== null && (
            <button type="button" class="button" onClick={() => setParams({ [other.param]: null, after: null })}>
              {other.words}
            </button>
          )}
        </div>
      )}
    </>
  );
}
