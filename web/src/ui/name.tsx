import { Fragment } from "preact";
import { useContext } from "preact/hooks";
import { OneLine } from "./one-line";

/** A technical name that may break after its separators, not within its words. */
export function Name({ text }: { text: string }) {
  // A `wbr` breaks a line even where its style forbids it.
  if (useContext(OneLine)) return <>{text}</>;
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
