import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { frozen } from "../live/clock";
import { passHeadingFocus, takeHeadingFocus } from "../state/route";

interface SectionProps {
  title: string;
  /** Shown at the right of the title: a link or buttons. */
  aside?: ComponentChildren;
  /** Old data behind a failed question; without a connection everything is dimmed. */
  dimmed?: boolean;
  children: ComponentChildren;
}

/** A titled panel. */
export function Section({ title, aside, dimmed = false, children }: SectionProps) {
  return (
    <section class={`panel ${dimmed || frozen.value ? "dimmed" : ""}`} aria-label={title}>
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

/** The title of a page with its main actions. After a navigation the focus begins here. */
export function PageHead({ title, children }: PageHeadProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const element = heading.current;
    if (element === null) return undefined;
    takeHeadingFocus(element);
    return () => passHeadingFocus(element);
  }, []);
  return (
    <div class="page-head">
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {children !== undefined && <div class="page-actions">{children}</div>}
    </div>
  );
}
