import { useState } from "preact/hooks";
import { Action } from "../../ui/action";
import { Field, HiddenInput } from "../../ui/field";
import { FormDialog } from "../../ui/form-dialog";
import { Section } from "../../ui/section";
import { changePassword } from "./service";

function NewPassword({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const [again, setAgain] = useState("");
  return (
    <FormDialog
      title="Change your password"
      action="Change it"
      needs="VIEWER"
      onClose={onClose}
      send={() => changePassword(current, password, again)}
      onDone={onDone}
    >
      {(fault) => (
        <>
          <Field label="Present password" error={fault("current")}>
            <HiddenInput
              value={current}
              onChange={setCurrent}
              invalid={fault("current") !== undefined}
              remembered="current-password"
            />
          </Field>
          <Field
            label="New password"
            hint="At least 12 characters; a sentence of a few words does well"
            error={fault("password")}
          >
            <HiddenInput value={password} onChange={setPassword} invalid={fault("password") !== undefined} />
          </Field>
          <Field label="Repeat it" error={fault("again")}>
            <HiddenInput value={again} onChange={setAgain} invalid={fault("again") !== undefined} />
          </Field>
        </>
      )}
    </FormDialog>
  );
}

/** The password of one's own account. */
export function Password({ isSet, reload }: { isSet: boolean; reload: () => void }) {
  const [asking, setAsking] = useState(false);
  const obstacle = isSet ? null : "This account has no password; an administrator can make a link that sets one";
  return (
    <Section
      title="Password"
      aside={
        <Action needs="VIEWER" class="button small" reason={obstacle} onClick={() => setAsking(true)}>
          Change it
        </Action>
      }
    >
      <p class="panel-body">
        {isSet ? "A new one ends your sign-ins everywhere else. API tokens stay." : `${obstacle}.`}
      </p>
      {asking && (
        <NewPassword
          onClose={() => setAsking(false)}
          onDone={() => {
            setAsking(false);
            reload();
          }}
        />
      )}
    </Section>
  );
}
