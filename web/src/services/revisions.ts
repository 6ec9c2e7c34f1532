import { mutate, report } from "../api/mutate";
import { graphql } from "../api/tada";
import { notify } from "../state/announce";

const RevertToRevision = graphql(`
  mutation RevertToRevision($input: RevertToRevisionInput!) {
    revertToRevision(input: $input) {
      task { name version }
      group { name version }
      job { name }
      errors { code message path }
    }
  }
`);

/** Gives a thing the settings back that it had after a revision, if it is still as it was shown. */
export async function revertTo(id: string, name: string, expectedVersion: number | null): Promise<boolean> {
  const input = { id, ...(expectedVersion !== null && { expectedVersion }) };
  if (!report(await mutate(RevertToRevision, { input }, (data) => data.revertToRevision))) return false;
  notify(`${name} has its former settings again`);
  return true;
}
