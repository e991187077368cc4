import { useState } from 'preact/hooks';
import { all, call } from '../app/api.ts';
import { mayOne } from '../app/capabilities.ts';
import { useLoaded } from '../app/loading.ts';
import { Button } from '../ui/button.tsx';
import { Select, TextField } from '../ui/field.tsx';
import { shared } from '../ui/texts.ts';
import { membersTexts as texts } from './texts.ts';

export type VaultRole = keyof typeof texts.roles;
export interface Grant {
  readonly vault: string;
  readonly role: VaultRole;
}

const PAGE = 1000;
/** So many vaults are suggested; others can be typed. */
const SUGGESTED_MAX = 200;

interface VaultsToAddTo {
  /** Every vault that the signed-in person sees. */
  readonly names: ReadonlySet<string>;
  /** Those to which they may add members. */
  readonly suggested: readonly string[];
}

async function loadVaults(signal: AbortSignal): Promise<VaultsToAddTo> {
  const vaults = await all(async (cursor) => {
    const query = { limit: PAGE, ...(cursor && { cursor }) };
    const page = await call('GET /v1/vaults', { query }, { signal });
    return { items: page.vaults, next_cursor: page.next_cursor };
  });
  const first = vaults.slice(0, SUGGESTED_MAX);
  const allowed = await Promise.all(first.map(({ name }) => mayOne(['members:add', `vault/${name}`])));
  return {
    names: new Set(vaults.map(({ name }) => name)),
    suggested: first.flatMap(({ name }, index) => (allowed[index] ? [name] : [])),
  };
}

/** Names of the vaults to which the signed-in person may add members. */
export async function vaultsToAddTo(signal: AbortSignal): Promise<readonly string[]> {
  return (await loadVaults(signal)).suggested;
}

export function VaultRoleChoice({ value, onChange }: { value: VaultRole; onChange: (role: VaultRole) => void }) {
  return (
    <Select
      label={texts.roleInVault}
      hint={texts.roleMeanings[value]}
      value={value}
      onChange={onChange}
      choices={Object.entries(texts.roles) as [VaultRole, string][]}
    />
  );
}

/** The vaults that somebody gets with the invitation; null while one is typed that nobody sees. What is chosen and not added yet counts too. */
export function VaultGrants({ onChange }: { onChange: (grants: readonly Grant[] | null) => void }) {
  const vaults = useLoaded(loadVaults, []);
  const [added, setAdded] = useState<readonly Grant[]>([]);
  const [vault, setVault] = useState('');
  const [role, setRole] = useState<VaultRole>('reader');
  if (vaults.data === null || vaults.data.suggested.length === 0) return null;
  const { names, suggested } = vaults.data;
  const tell = (grants: readonly Grant[], typed: string, typedRole: VaultRole) => {
    const name = typed.trim();
    if (name === '') onChange(grants);
    else onChange(names.has(name) ? [...grants, { vault: name, role: typedRole }] : null);
  };
  // The beginning of a name may be on its way to become one.
  const isUnknown = vault.trim() !== '' && ![...names].some((name) => name.startsWith(vault.trim()));
  const left = suggested.filter((name) => !added.some((grant) => grant.vault === name));
  const add = () => {
    const grants = [...added, { vault: vault.trim(), role }];
    setAdded(grants);
    setVault('');
    tell(grants, '', role);
  };
  const remove = (name: string) => {
    const grants = added.filter((grant) => grant.vault !== name);
    setAdded(grants);
    tell(grants, vault, role);
  };
  return (
    <fieldset class="card">
      <legend>{texts.firstVaults}</legend>
      <p class="soft">{texts.firstVaultsHint}</p>
      {added.length === 0 ? null : (
        <ul class="values">
          {added.map((grant) => (
            <li key={grant.vault}>
              {texts.grant(grant.vault, texts.roles[grant.role])}
              <Button isSmall kind="quiet" label={shared.removeValue(grant.vault)} onClick={() => remove(grant.vault)}>
                {shared.remove}
              </Button>
            </li>
          ))}
        </ul>
      )}
      <TextField
        field="vaults"
        label={texts.vault}
        problem={isUnknown ? texts.unknownVault(vault.trim()) : null}
        value={vault}
        choices={left}
        onInput={(typed) => {
          setVault(typed);
          tell(added, typed, role);
        }}
      />
      <VaultRoleChoice
        value={role}
        onChange={(chosen) => {
          setRole(chosen);
          tell(added, vault, chosen);
        }}
      />
      <div>
        <Button isDisabled={!names.has(vault.trim())} onClick={add}>
          {texts.oneMoreVault}
        </Button>
      </div>
    </fieldset>
  );
}
