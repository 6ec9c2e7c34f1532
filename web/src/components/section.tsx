import type { ComponentChildren } from "preact";

interface SectionProps {
  title: string;
  /** Shown at the right of the title: a link or buttons. */
  aside?: ComponentChildren;
  /** Old data behind a failed question. */
  dimmed?: boolean;
  children: ComponentChildren;
}

/** A titled panel. */
export function Section({ title, aside, dimmed = false, children }: SectionProps) {
  return (
    <section class={`panel ${dimmed ? "dimmed" : ""}`} aria-label={title}>
      <div class="panel-head">
        <h2>{title}</h2>
        {aside !== undefined && <div class="panel-aside">{aside}</div>}
      </div>
      {children}
    </section>
  );
}

interface PageHeadProps {
  title: ComponentChildren;
  children?: ComponentChildren;
}

/** The title of a page with its main actions. */
export function PageHead({ title, children }: PageHeadProps) {
  return (
    <div class="page-head">
      <h1>{title}</h1>
      {children !== undefined && <div class="page-actions">{children}</div>}
    </div>
  );
}
