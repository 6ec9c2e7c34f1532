import { useEffect, useState } from "preact/hooks";
import { knowsPasskeys, signInByPasskey } from "../api/passkeys";
import { post } from "../api/post";
import { asksToSignIn, leaveToSignIn, signedIn, signInInPlace } from "../api/sign-in";
import { at } from "../lib/base";
import { refreshViewer, viewer } from "../live/viewer";
import { Dialog } from "../ui/dialog";
import { Field, HiddenInput, TextInput } from "../ui/field";

/** Asks to sign in again above the form that is open, as soon as the session has ended. */
export function SignInAgain() {
  useEffect(signInInPlace, []);
  return asksToSignIn.value ? <SignInDialog /> : null;
}

function SignInDialog() {
  const known = viewer.value?.name ?? "";
  const [name, setName] = useState(known);
  const [password, setPassword] = useState("");
  const [fault, setFault] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const enter = async (by: () => Promise<unknown>): Promise<void> => {
    setBusy(true);
    setFault(null);
    try {
      await by();
      const now = await refreshViewer();
      // The form belongs to somebody else.
      if (known !== "" && now !== known) location.reload();
      else signedIn();
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Sign in again" onClose={leaveToSignIn}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void enter(() => post("/auth/password", { name, password }));
        }}
      >
        <p>Your sign-in has ended. What you have entered is kept, and is sent once you are back.</p>
        {fault !== null && (
          <p class="field-error" role="alert">
            {fault}
          </p>
        )}
        <Field label="Name">
          <TextInput value={name} onChange={setName} />
        </Field>
        <Field label="Password">
          <HiddenInput value={password} onChange={setPassword} remembered="current-password" />
        </Field>
        <div class="form-actions">
          <a
            class="button"
            href={at("/login")}
            target="_blank"
            rel="noopener"
            onClick={() => window.addEventListener("focus", () => void enter(async () => undefined), { once: true })}
          >
            Another way
          </a>
          {knowsPasskeys() && (
            <button type="button" class="button" disabled={busy} onClick={() => void enter(signInByPasskey)}>
              Use a passkey
            </button>
          )}
          <button type="submit" class="button primary" disabled={busy}>
            Sign in
          </button>
        </div>
      </form>
    </Dialog>
  );
}
