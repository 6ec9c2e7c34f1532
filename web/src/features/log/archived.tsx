import { graphql } from "../../api/tada";
import { useLive } from "../../live/use-live";
import { Time } from "../../ui/time";

const ArchiveDocument = graphql(`query LogArchive { asOf retention { archive { completeUntilAt } } }`);

/** Says where the history is that was deleted, if there is an archive and the list reaches so far: `from`, or ever. */
export function Archived({ from }: { from: number | null }) {
  const { state: until } = useLive("log/archive", {
    document: ArchiveDocument,
    variables: () => ({}),
    init: ({ retention }) => retention?.archive?.completeUntilAt ?? null,
  });
  if (until === null || (from !== null && from >= Date.parse(until))) return null;
  return (
    <p class="dim" role="note">
      Of what ended before <Time at={until} form="moment" />, the older part may have been deleted; it is in the
      archive: <code>cronograph log --archive</code>
    </p>
  );
}
