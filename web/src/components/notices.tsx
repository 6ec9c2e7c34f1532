import { dismiss, notices, spoken } from "../state/announce";
import { Icon } from "./icon";

/** Messages with their way back, and the one live region of the page. */
export function Notices() {
  return (
    <section aria-label="Messages">
      <div class="visually-hidden" role="status" aria-live="polite">
        {spoken.value}
      </div>
      <div class="notices">
        {notices.value.map((notice) => (
          <div key={notice.id} class={`notice notice-${notice.tone}`} role={notice.tone === "bad" ? "alert" : undefined}>
            <span>{notice.text}</span>
            {notice.action && (
              <button
                type="button"
                class="link-button"
                onClick={() => {
                  notice.action?.run();
                  dismiss(notice.id);
                }}
              >
                {notice.action.label}
              </button>
            )}
            <button type="button" class="icon-button" aria-label="Close message" onClick={() => dismiss(notice.id)}>
              <Icon name="close" />
            </button>
          </div>
        ))}
      </div>
    </section>
  );
}
