import { useEffect, useMemo, useState } from "preact/hooks";
import { ErrorBox, Skeleton } from "../components/feedback";
import { PageHead, Section } from "../components/section";
import { Facts } from "../components/task-facts";
import { Identities } from "../components/identities";
import { Passkeys } from "../components/passkeys";
import { Password } from "../components/password";
import { Sessions } from "../components/sessions";
import { Tokens } from "../components/tokens";
import { graphql, type ResultOf } from "../graphql/tada";
import { at } from "../lib/base";
import { words } from "../lib/format";
import { unannounced } from "../live/unannounced";
import { useLive } from "../live/use-live";
import { leaves } from "../services/sign-in";
import { setTitle } from "../state/title";

const AccountDocument = graphql(`
  query AccountPage {
    asOf
    serverTime
    viewer {
      name
      role
      hasPassword
      passkeys { id name createdAt lastUsedAt }
      identities { id provider issuer subject createdAt lastUsedAt }
      sessions { id kind createdAt lastSeenAt expiresAt address agent current }
      tokens { id name shown role createdAt expiresAt lastUsedAt }
    }
  }
`);

export type Viewer = ResultOf<typeof AccountDocument>["viewer"];

/** One's own account: what one signs in with, and where one is signed in. */
export function AccountPage() {
  const { state, error, reload } = useLive("account", { document: AccountDocument, variables: () => ({}), init: (data) => data.viewer, expires: unannounced });
  const [providers, setProviders] = useState<readonly Provider[]>([]);
  useEffect(() => setTitle("Account"), []);
  const signedIn = useMemo(() => state?.sessions.some((session) => session.current) ?? false, [state]);
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
            <Facts entries={[["Name", state.name], ["Role", words(state.role)]]} />
          </Section>
          {!signedIn ? (
            <Section title="Sign-in">
              <p class="panel-body">Nobody signs in on this server (it was started with --no-auth): everybody on this machine is the administrator.</p>
            </Section>
          ) : (
            <>
              <Password isSet={state.hasPassword} reload={reload} />
              <Passkeys rows={state.passkeys} reload={reload} />
              {(providers.length > 0 || state.identities.length > 0) && <Identities rows={state.identities} providers={providers} reload={reload} />}
              <Sessions rows={state.sessions} reload={reload} />
              <Tokens rows={state.tokens} role={state.role} reload={reload} />
            </>
          )}
        </>
      )}
    </>
  );
}

/** A provider of identities: its key in addresses, and what it is called. */
export interface Provider {
  readonly key: string;
  readonly name: string;
}

/** The providers that this server knows; none when it does not say. */
async function readProviders(): Promise<readonly Provider[]> {
  const response = await fetch(at("/auth/providers"));
  return response.ok ? ((await response.json()) as readonly Provider[]) : [];
}
