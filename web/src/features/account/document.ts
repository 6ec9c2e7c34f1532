import { graphql, type ResultOf } from "../../api/tada";

export const AccountDocument = graphql(`
  query AccountPage {
    asOf
    serverTime
    viewer {
      name
      role
      hasPassword
      passkeys { id name createdAt lastUsedAt }
      identities { id provider issuer subject createdAt lastUsedAt }
      sessions { id kind createdAt lastSeenAt expiresAt address agent isCurrent }
      tokens { id name shown role createdAt expiresAt lastUsedAt }
    }
  }
`);

/** Who looks at their own account. */
export type Viewer = ResultOf<typeof AccountDocument>["viewer"];

/** A provider of identities: its key in addresses, and what it is called. */
export interface Provider {
  readonly key: string;
  readonly name: string;
}
