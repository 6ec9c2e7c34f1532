let failures = 0;

/** The title of the browser tab; failures of the last day show in it and in the icon. */
export function setTitle(page: string, failed: number = failures): void {
  failures = failed;
  document.title = `${failed > 0 ? `(${failed}) ` : ""}${page} · Cronograph`;
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  const href = failed > 0 ? "/icon-failed.svg" : "/icon.svg";
  if (icon !== null && icon.getAttribute("href") !== href) icon.setAttribute("href", href);
}
