import { useEffect, useState } from 'preact/hooks';
import { useCall } from '../app/use-call.ts';
import { TextField } from '../ui/field.tsx';
import { Notice } from '../ui/notice.tsx';
import { LENGTH_MIN, strengthOf } from './passphrase-strength.ts';
import { passphraseTexts as texts } from './passphrase-texts.ts';

/** Asks for the passphrase of a zero-knowledge vault: twice where it is new, because a mistyped one loses what it seals. */
export function PassphraseFields({
  vault,
  known = '',
  onChange,
}: {
  vault: string;
  /** What was typed on the page before. */
  known?: string;
  /** Null until it can be used. */
  onChange: (passphrase: string | null) => void;
}) {
  const stored = useCall('GET /v1/vaults/{vault}/passphrase-check', { path: { vault } });
  const [text, setText] = useState(known);
  const [again, setAgain] = useState('');
  // Users who may use only some paths of the vault cannot read the check.
  const isKnown = stored.data !== null || stored.error !== null;
  const isNew = stored.data?.check === null;
  const isUsable = isKnown && text.length >= LENGTH_MIN && (!isNew || again === text);
  useEffect(() => onChange(isUsable ? text : null), [isUsable, text]);
  return (
    <>
      {stored.data !== null && stored.data.former !== null ? <Notice>{texts.changing}</Notice> : null}
      <TextField
        label={isNew ? texts.newPassphrase : texts.passphrase}
        hint={isNew ? texts.strength[strengthOf(text)] : texts.hint}
        type="password"
        value={text}
        onInput={setText}
        isRequired
      />
      {isNew ? (
        <TextField
          label={texts.again}
          hint={texts.lost}
          problem={again !== '' && again !== text ? texts.differs : null}
          type="password"
          value={again}
          onInput={setAgain}
          isRequired
        />
      ) : null}
    </>
  );
}
