import { useRef } from "preact/hooks";
import { dismiss, notices, spoken } from "../state/announce";
import { Icon } from "../ui/icon";

/** Messages with their way back, and the one live region of the page. */
export function Notices() {
  const before = useRef<EventTarget | null>(null);
  const close = (id: number): void => {
    dismiss(id);
    // The focus goes back to where it was before it came here, as far as that is still there.
    const origin =
      before.current instanceof HTMLElement && before.current.isConnected
        ? before.current
        : document.querySelector<HTMLElement>("h1");
    origin?.focus({ preventScroll: true });
  };
  return (
    <section
      aria-label="Messages"
      onFocusIn={({ currentTarget, relatedTarget }) => {
        if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) before.current = relatedTarget;
      }}
    >
      <div class="visually-hidden" role="status" aria-live="polite">
        {spoken.value}
      </div>
      <div class="notices">
        {notices.value.map((notice) => (
          <div
            key={notice.id}
            class={`notice notice-${notice.tone}`}
            role={notice.tone === "bad" ? "alert" : undefined}
          >
            <span>{notice.text}</span>
            {notice.action && (
              <button
                type="button"
                class="link-button"
                onClick={() => {
                  notice.action?.run();
                  close(notice.id);
                }}
              >
                {notice.action.label}
              </button>
            )}
            <button type="button" class="icon-button" aria-label="Close message" onClick={() => close(notice.id)}>
              <Icon name="close" />
            </button>
          </div>
        ))}
      </div>
    </section>
  );
}
