import { Fragment } from "preact";

/** A technical name that may break after its separators, not within its words. */
export function Name({ text }: { text: string }) {
  const parts = text.split(/(?<=[_\-./:])/);
  return (
    <>
      {parts.map((part, index) => (
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </>
  );
}
