import { useState } from "preact/hooks";
import { type ResourcesInput, readResources } from "../lib/resources";
import { Field, TextInput } from "../ui/field";

interface ResourcesFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error: string | undefined;
}

/** What a run needs at the engine of its job. */
export function ResourcesField({ value, onChange, error }: ResourcesFieldProps) {
  return (
    <Field
      label="At the engine"
      error={error}
      hint="such as gpus=2, memory=8GiB, account=physics; each as the job says unless given"
    >
      <TextInput value={value} onChange={onChange} invalid={error !== undefined} mono />
    </Field>
  );
}

/** The field for one run, if its job has an engine, and a way to send what is typed there, unless it is wrong. */
export function useResources(isolation: string | undefined) {
  const [text, setText] = useState("");
  const [fault, setFault] = useState<string | undefined>(undefined);
  const sent = async <T,>(send: (resources: ResourcesInput | null) => Promise<T>, refused: T): Promise<T> => {
    const resources = readResources(text);
    const isWrong = typeof resources === "string";
    setFault(isWrong ? resources : undefined);
    return isWrong ? refused : send(resources);
  };
  const field = isolation === "REMOTE" && <ResourcesField value={text} onChange={setText} error={fault} />;
  return { field, sent };
}
