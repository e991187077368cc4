import type { ComponentChildren } from 'preact';
import type { Action } from '../app/loading.ts';
import { Button } from '../ui/button.tsx';
import { TextField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { ErrorNote } from '../ui/notice.tsx';
import { signInTexts as texts } from './texts.ts';

export function SignInForm({
  action,
  submitText,
  onSubmit,
  children,
}: {
  action: Action;
  submitText: string;
  onSubmit: () => Promise<void>;
  children: ComponentChildren;
}) {
  return (
    <Form error={action.error} onSubmit={() => void action.run(onSubmit)}>
      {children}
      <ErrorNote error={action.error} />
      <Button type="submit" kind="primary" isBusy={action.isRunning}>
        {submitText}
      </Button>
    </Form>
  );
}

export function NewPassword({
  field,
  value,
  onInput,
  repeated,
  onRepeat,
  isFocused = false,
}: {
  /** Where the service expects it. */
  field: 'password' | 'new_password';
  value: string;
  onInput: (value: string) => void;
  repeated: string;
  onRepeat: (value: string) => void;
  isFocused?: boolean;
}) {
  return (
    <>
      <TextField
        field={field}
        label={texts.newPassword}
        hint={texts.newPasswordHint}
        type="password"
        value={value}
        onInput={onInput}
        autocomplete="new-password"
        isRequired
        isFocused={isFocused}
      />
      <TextField
        label={texts.repeatPassword}
        problem={repeated !== '' && repeated !== value ? texts.passwordsDiffer : null}
        type="password"
        value={repeated}
        onInput={onRepeat}
        autocomplete="new-password"
        isRequired
      />
    </>
  );
}
