/** What the server's own page of sign-in gets besides its form: the theme of the dashboard, and passkeys. */

import { knowsPasskeys, signInByPasskey } from "./api/passkeys";
import { at } from "./lib/base";
import { storedTheme } from "./state/stored-theme";

const chosen = storedTheme();
if (chosen !== "auto") document.documentElement.dataset["theme"] = chosen;

/** A path of this site, below where it is mounted, even if the form says otherwise. */
function nextPath(form: HTMLFormElement | null): string {
  const wanted = form?.querySelector<HTMLInputElement>('input[name="next"]')?.value ?? "/";
  return new URL(wanted, location.origin).origin === location.origin ? wanted : "/";
}

const button = document.querySelector<HTMLButtonElement>("[data-passkey]");
if (button !== null && knowsPasskeys()) {
  const problem = document.createElement("p");
  problem.className = "bad";
  problem.setAttribute("role", "alert");
  button.after(problem);
  button.hidden = false;
  button.addEventListener("click", () => {
    button.disabled = true;
    problem.textContent = "";
    signInByPasskey().then(
      () => location.assign(at(nextPath(document.querySelector("form")))),
      (error: unknown) => {
        problem.textContent = error instanceof Error ? error.message : String(error);
        button.disabled = false;
        button.focus();
      },
    );
  });
}
