import type { ComponentChildren } from "preact";
import { ApiError } from "../api/client";
import { copyText } from "../state/copy";
import { Icon } from "./icon";

interface ErrorBoxProps {
  error: Error;
  retry: () => void;
  /** What is said instead of the error's own words. */
  words?: string | null;
  /** Other ways than to try again. */
  children?: ComponentChildren;
}

/** What went wrong, under which id the server logged it, and a way to try again; old data stays below it. */
export function ErrorBox({ error, retry, words = null, children }: ErrorBoxProps) {
  const id = error instanceof ApiError ? error.id : null;
  return (
    <div class="error-box" role="alert">
      <Icon name="alert" />
      <div>
        <strong>{words ?? error.message}</strong>
        {id !== null && (
          <span class="dim">
            {" "}
            · id <code>{id}</code>
          </span>
        )}
        {children}
      </div>
      <button type="button" class="button" onClick={retry}>
        Retry
      </button>
    </div>
  );
}

/** Why a list is empty, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** A command to copy. */
export function Command({ text }: { text: string }) {
  return (
    <span class="command">
      <code>{text}</code>
      <button
        type="button"
        class="icon-button"
        aria-label={`Copy: ${text}`}
        onClick={() => void copyText(text, "Command copied")}
      >
        <Icon name="copy" />
      </button>
    </span>
  );
}

/** Keeps the place of rows that are on their way. */
export function Skeleton({ rows = 4 }: { rows?: number }) {
  return (
    <div class="skeleton" aria-busy="true">
      <span class="visually-hidden">Loading</span>
      {Array.from({ length: rows }, (_, index) => (
        <span key={index} class="skeleton-row" />
      ))}
    </div>
  );
}
