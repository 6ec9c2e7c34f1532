import { useEffect, useMemo, useState } from "preact/hooks";
import { leaves } from "../../api/sign-in";
import { at } from "../../lib/base";
import { words } from "../../lib/format";
import { setTitle } from "../../live/title";
import { unannounced } from "../../live/unannounced";
import { useLive } from "../../live/use-live";
import { Facts } from "../../parts/task-facts";
import { ErrorBox, Skeleton } from "../../ui/feedback";
import { PageHead, Section } from "../../ui/section";
import { AccountDocument, type Provider } from "./document";
import { Identities } from "./identities";
import { Passkeys } from "./passkeys";
import { Password } from "./password";
import { Sessions } from "./sessions";
import { Tokens } from "./tokens";

/** One's own account: what one signs in with, and where one is signed in. */
export function AccountPage() {
  const { state, error, reload } = useLive("account", {
    document: AccountDocument,
    variables: () => ({}),
    init: (data) => data.viewer,
    expires: unannounced,
  });
  const [providers, setProviders] = useState<readonly Provider[]>([]);
  useEffect(() => setTitle("Account"), []);
  const signedIn = useMemo(() => state?.sessions.some((session) => session.isCurrent) ?? false, [state]);
  // Where nobody signs in there are no providers to ask for.
  useEffect(() => void (signedIn && readProviders().then(setProviders)), [signedIn]);
  return (
    <>
      <PageHead title="Account">
        {signedIn && (
          <form method="post" action="/auth/sign-out-everywhere" onSubmit={leaves}>
            <button type="submit" class="button">
              Sign out everywhere
            </button>
          </form>
        )}
      </PageHead>
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {state === null ? (
        error === null && <Skeleton rows={8} />
      ) : (
        <>
          <Section title="You">
            <Facts
              entries={[
                ["Name", state.name],
                ["Role", words(state.role)],
              ]}
            />
          </Section>
          {!signedIn ? (
            <Section title="Sign-in">
              <p class="panel-body">
                Nobody signs in on this server (it was started with --no-auth): everybody on this machine is the
                administrator.
              </p>
            </Section>
          ) : (
            <>
              <Password isSet={state.hasPassword} reload={reload} />
              <Passkeys rows={state.passkeys} reload={reload} />
              {(providers.length > 0 || state.identities.length > 0) && (
                <Identities rows={state.identities} providers={providers} reload={reload} />
              )}
              <Sessions rows={state.sessions} reload={reload} />
              <Tokens rows={state.tokens} role={state.role} reload={reload} />
            </>
          )}
        </>
      )}
    </>
  );
}

/** The providers that this server knows; none when it does not say. */
async function readProviders(): Promise<readonly Provider[]> {
  const response = await fetch(at("/auth/providers"));
  return response.ok ? ((await response.json()) as readonly Provider[]) : [];
}
