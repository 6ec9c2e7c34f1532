import { leaves } from "../api/sign-in";
import { words } from "../lib/format";
import { hasSignedIn, viewer } from "../live/viewer";
import { Icon } from "../ui/icon";

/** Who has signed in, and the way out. Without sign-in there is nobody to name. */
export function Who() {
  const known = viewer.value;
  if (known === null || !hasSignedIn()) return null;
  return (
    <>
      <a class="button small who" href="/account" title={`Your account: ${known.name} (${words(known.role)})`}>
        <Icon name="person" />
        <span class="who-name">{known.name}</span>
      </a>
      <form method="post" action="/auth/sign-out" onSubmit={leaves}>
        <button type="submit" class="icon-button" title="Sign out" aria-label="Sign out">
          <Icon name="leave" />
        </button>
      </form>
    </>
  );
}
