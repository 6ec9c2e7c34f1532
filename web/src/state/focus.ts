interface Place {
  readonly element: HTMLElement;
  /** The rows before and after the one that it is in. */
  readonly beside: readonly (Element | null)[];
}

/** What has the focus, or had it when it was taken away. */
let last: Place | null = null;

function placeOf(target: EventTarget | null): Place | null {
  // A dialog gives the focus back by itself.
  if (!(target instanceof HTMLElement) || target.closest("main") === null || target.closest("dialog") !== null)
    return null;
  const row = target.closest("[data-row]");
  return { element: target, beside: [row?.nextElementSibling ?? null, row?.previousElementSibling ?? null] };
}

/** Where somebody goes on whose button or row has gone: in the next row, else at the heading. */
function goOn(): void {
  if (
    last === null ||
    last.element.isConnected ||
    (document.activeElement !== document.body && document.activeElement !== null)
  )
    return;
  const row = last.beside.find((each) => each?.isConnected === true && each.matches("[data-row]"));
  const place = row ?? document.querySelector("h1");
  last = null;
  if (place instanceof HTMLElement) place.focus({ preventScroll: true });
}

/**
 * Sees to it that the focus is not lost with what had it: from the beginning of the page one would have to come all the
 * way again.
 */
export function startFocusKeeper(): void {
  document.addEventListener("focusin", ({ target }) => (last = placeOf(target)));
  document.addEventListener("focusout", ({ target, relatedTarget }) => {
    if (relatedTarget !== null) return;
    // Who leaves it for nothing has no place any more; what was removed is gone within this frame.
    requestAnimationFrame(() => {
      if (last?.element === target && last?.element.isConnected === true && document.activeElement !== target)
        last = null;
    });
  });
  new MutationObserver(goOn).observe(document.body, { childList: true, subtree: true });
}
