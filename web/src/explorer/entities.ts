/**
 * Stands in for the package `entities`, by which GraphiQL reads `&amp;` and `&#228;` in descriptions: the browser
 * knows all the names of HTML already.
 */
function decode(entity: string): string {
  return new DOMParser().parseFromString(entity, "text/html").body.textContent;
}

/** The character that an entity stands for. GraphiQL asks for one at a time; an unknown one stays as it is. */
export const decodeHTML = decode;
export const decodeHTMLStrict = decode;
