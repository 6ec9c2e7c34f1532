/**
 * Stands in for the package `react-style-singleton`, by which GraphiQL's dialogs keep the page behind them from
 * scrolling. That one writes `<style>` elements, which the Content-Security-Policy refuses; style sheets made by a
 * script are allowed.
 */
import { useEffect } from "react";

interface StyleProps {
  styles: string;
  dynamic?: boolean;
}

/** A style sheet that is in force while anybody has added it. */
function stylesheetSingleton(): { add(css: string): void; remove(): void } {
  let users = 0;
  let sheet: CSSStyleSheet | null = null;
  return {
    add(css) {
      users += 1;
      if (sheet !== null) return;
      sheet = new CSSStyleSheet();
      sheet.replaceSync(css);
      document.adoptedStyleSheets.push(sheet);
    },
    remove() {
      users -= 1;
      if (users > 0) return;
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
      sheet = null;
    },
  };
}

/** A component that adds its styles while at least one of it is mounted. */
export function styleSingleton(): (props: StyleProps) => null {
  const sheet = stylesheetSingleton();
  return function Sheet({ styles, dynamic }: StyleProps): null {
    useEffect(() => {
      sheet.add(styles);
      return () => sheet.remove();
    }, [styles && dynamic]);
    return null;
  };
}
