import { useState } from 'preact/hooks';
import { useLoaded } from '../app/loading.ts';
import { loadVaultNames } from '../connections/index.ts';
import { useDirectory } from '../people/index.ts';
import { Select, TextField } from '../ui/field.tsx';
import type { ExporterItem } from './data.ts';
import { exportersTexts as texts } from './texts.ts';

export type ExporterFilter = ExporterItem['filter'];
type Decision = keyof typeof texts.decisions;

const OTHER = 'other';
const LISTED: readonly (readonly [string, string])[] = Object.entries(texts.actions);

/** Everything that chooses the entries of an exporter. What is empty is left out. */
export function ExporterFilterFields({
  filter,
  onChange,
}: {
  filter: ExporterFilter;
  onChange: (filter: ExporterFilter) => void;
}) {
  const vaults = useLoaded(loadVaultNames, []);
  const directory = useDirectory(true);
  const people = directory.data?.users.map(({ email }) => email) ?? [];
  const connections = directory.data?.connections.map(({ name }) => name) ?? [];
  const set = (name: keyof ExporterFilter) => (value: string) => {
    const { [name]: _, ...others } = filter;
    onChange(value === '' ? others : { ...others, [name]: value });
  };
  return (
    <fieldset class="checks">
      <legend>{texts.which}</legend>
      <p class="soft">{texts.whichText}</p>
      <ActionField value={filter.action ?? ''} onChange={set('action')} />
      <Select
        field="filter/decision"
        label={texts.decision}
        value={filter.decision ?? 'all'}
        onChange={(decision) => set('decision')(decision === 'all' ? '' : decision)}
        choices={Object.entries(texts.decisions) as [Decision, string][]}
      />
      <TextField
        field="filter/vault"
        label={texts.vault}
        value={filter.vault ?? ''}
        onInput={set('vault')}
        placeholder={texts.anyVault}
        choices={(vaults.data ?? []).map(({ name }) => name)}
      />
      <TextField
        field="filter/actor"
        label={texts.actor}
        hint={texts.actorHint}
        value={filter.actor ?? ''}
        onInput={set('actor')}
        choices={[...people, ...connections]}
      />
      <TextField
        field="filter/resource"
        label={texts.resource}
        hint={texts.resourceHint}
        value={filter.resource ?? ''}
        onInput={set('resource')}
        isMono
      />
    </fieldset>
  );
}

/** The usual ones are chosen in words; any other is typed. */
function ActionField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const [isTyped, setTyped] = useState(value !== '' && !LISTED.some(([action]) => action === value));
  const choose = (chosen: string) => {
    setTyped(chosen === OTHER);
    onChange(chosen === OTHER ? '' : chosen);
  };
  return (
    <>
      <Select
        label={texts.action}
        value={isTyped ? OTHER : value}
        onChange={choose}
        choices={[['', texts.anyAction], ...LISTED, [OTHER, texts.otherAction]]}
      />
      {isTyped ? (
        <TextField
          field="filter/action"
          label={texts.actionName}
          hint={texts.actionNameHint}
          value={value}
          onInput={onChange}
          isFocused
          isMono
        />
      ) : null}
    </>
  );
}
