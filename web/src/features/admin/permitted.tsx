import type { ComponentChildren } from "preact";
import { type Role, viewer, whyNot } from "../../live/viewer";
import { Empty, Skeleton } from "../../ui/feedback";
import { PageHead } from "../../ui/section";

/** A page for a role: who has not got it reads why, and nothing of it is asked for. */
export function Permitted({ needs, title, children }: { needs: Role; title: string; children: ComponentChildren }) {
  if (viewer.value === null) {
    return (
      <>
        <PageHead title={title} />
        <Skeleton rows={6} />
      </>
    );
  }
  const obstacle = whyNot(needs);
  if (obstacle === null) return <>{children}</>;
  return (
    <>
      <PageHead title={title} />
      <section class="panel" aria-label="Not permitted">
        <Empty title="Not permitted">
          <p>{obstacle}.</p>
        </Empty>
      </section>
    </>
  );
}
