import { useState } from 'preact/hooks';
import { me } from '../app/api.ts';
import type { Check } from '../app/capabilities.ts';
import { useMay } from '../app/capabilities.ts';
import { listOf } from '../ui/comma-list.ts';
import { Checkbox, Select, TextField } from '../ui/field.tsx';
import { Notice } from '../ui/notice.tsx';
import { shared } from '../ui/texts.ts';
import { ValueList } from '../ui/value-list.tsx';
import type { ConnectionItem, VaultName } from './data.ts';
import { ConnectionPaths } from './paths.tsx';
import { connectionsTexts as texts } from './texts.ts';

type SessionAction = ConnectionItem['concurrent_session_action'];

/** A connection as it is typed. */
export interface ConnectionDraft {
  readonly name: string;
  readonly description: string;
  /** By name. */
  readonly vaults: readonly string[];
  /** Patterns; the last one may be several that are still typed, separated by commas. */
  readonly paths: readonly string[];
  readonly hasMtls: boolean;
  readonly hasDpop: boolean;
  readonly dpopKey: string;
  readonly addresses: string;
  readonly sessions: string;
  readonly sessionAction: SessionAction;
}

/** Where a program can show its certificate; null if it cannot. */
export function certificateUrl(): string | null {
  return me.value?.tls_url ?? null;
}

export const newConnection = (): ConnectionDraft => ({
  name: '',
  description: '',
  vaults: [],
  paths: [],
  // Over http, as on this machine, no certificate can be shown.
  hasMtls: location.protocol === 'https:' && certificateUrl() !== null,
  hasDpop: false,
  dpopKey: '',
  addresses: '',
  sessions: '',
  sessionAction: 'reject',
});

/** The pattern of a connection that may have every secret. */
const EVERYTHING = '*';

export function draftOf(connection: ConnectionItem, known: readonly VaultName[]): ConnectionDraft {
  return {
    name: connection.name,
    description: connection.description,
    vaults: connection.vault_ids.flatMap((id) => known.find((vault) => vault.id === id)?.name ?? []),
    paths: connection.allowed_paths.filter((path) => path !== EVERYTHING),
    hasMtls: connection.mtls_required,
    hasDpop: connection.require_dpop,
    dpopKey: connection.dpop_jkt ?? '',
    addresses: (connection.ip_allowlist ?? []).join(', '),
    sessions: String(connection.concurrent_session_limit ?? ''),
    sessionAction: connection.concurrent_session_action,
  };
}

/** Names that no vault has, as far as the person can see. */
function unknownVaults({ vaults }: ConnectionDraft, known: readonly VaultName[]): readonly string[] {
  return vaults.filter((name) => !known.some((vault) => vault.name === name));
}

/** Whether it can be sent. `unseen` are vaults of the connection that the person cannot see, which it keeps. */
export function isComplete(draft: ConnectionDraft, known: readonly VaultName[], unseen: readonly string[] = []) {
  return draft.vaults.length + unseen.length > 0 && unknownVaults(draft, known).length === 0;
}

/** The fields of a request; null means that there is no limit. */
export function fieldsOf(draft: ConnectionDraft, known: readonly VaultName[], unseen: readonly string[] = []) {
  const paths = [...new Set(draft.paths.flatMap(listOf))];
  const addresses = listOf(draft.addresses);
  return {
    name: draft.name,
    description: draft.description,
    vault_ids: [...draft.vaults.flatMap((name) => known.find((vault) => vault.name === name)?.id ?? []), ...unseen],
    allowed_paths: paths.length === 0 ? [EVERYTHING] : paths,
    mtls_required: draft.hasMtls,
    require_dpop: draft.hasDpop,
    dpop_jkt: draft.dpopKey.trim() === '' ? null : draft.dpopKey.trim(),
    ip_allowlist: addresses.length === 0 ? null : addresses,
    concurrent_session_limit: draft.sessions === '' ? null : Number(draft.sessions),
    concurrent_session_action: draft.sessionAction,
  };
}

export function ConnectionFields({
  draft,
  known,
  unseen = [],
  onChange,
}: {
  draft: ConnectionDraft;
  known: readonly VaultName[];
  unseen?: readonly string[];
  onChange: (draft: ConnectionDraft) => void;
}) {
  const set = (change: Partial<ConnectionDraft>) => onChange({ ...draft, ...change });
  const [hadMtls] = useState(draft.hasMtls);
  // Giving a vault to a program takes the same right as giving it to a person.
  const may = useMay<string>(
    Object.fromEntries(known.map(({ name }): [string, Check] => [name, ['members:add', `vault/${name}`]])),
  );
  // The beginning of a name may be on its way to become one.
  const unknown = unknownVaults(draft, known).find((text) => !known.some(({ name }) => name.startsWith(text)));
  return (
    <>
      <ValueList
        field="vault_ids"
        label={texts.vaults}
        hint={unseen.length === 0 ? texts.vaultsHint : texts.vaultsUnseen(unseen.length)}
        problem={unknown === undefined ? null : texts.unknownVault(unknown)}
        values={draft.vaults}
        choices={known.flatMap(({ name }) => (may[name] && !draft.vaults.includes(name) ? [name] : []))}
        onChange={(vaults) => set({ vaults })}
      />
      <ConnectionPaths
        vaults={draft.vaults.filter((name) => known.some((vault) => vault.name === name))}
        patterns={draft.paths}
        onChange={(paths) => set({ paths })}
      />
      <TextField
        field="description"
        label={shared.description}
        value={draft.description}
        onInput={(description) => set({ description })}
      />
      {hadMtls || certificateUrl() !== null ? (
        <Checkbox
          field="mtls_required"
          label={texts.mtls}
          hint={certificateUrl() === null ? texts.mtlsUnusable : texts.mtlsHint(certificateUrl() ?? '')}
          isChecked={draft.hasMtls}
          onChange={(hasMtls) => set({ hasMtls })}
        />
      ) : (
        <Notice>{texts.mtlsNotOffered}</Notice>
      )}
      <details>
        <summary>{texts.moreLimits}</summary>
        <div class="stack">
          <Checkbox
            field="require_dpop"
            label={texts.requireDpop}
            hint={texts.requireDpopHint}
            isChecked={draft.hasDpop}
            onChange={(hasDpop) => set({ hasDpop })}
          />
          {draft.hasDpop ? (
            <TextField
              field="dpop_jkt"
              label={texts.dpopKey}
              hint={texts.dpopKeyHint}
              value={draft.dpopKey}
              onInput={(dpopKey) => set({ dpopKey })}
              isMono
            />
          ) : null}
          <TextField
            field="ip_allowlist"
            label={texts.addresses}
            hint={texts.addressesHint}
            value={draft.addresses}
            onInput={(addresses) => set({ addresses })}
            isMono
          />
          <TextField
            field="concurrent_session_limit"
            label={texts.sessions}
            hint={texts.sessionsHint}
            type="number"
            value={draft.sessions}
            onInput={(sessions) => set({ sessions })}
          />
          {draft.sessions === '' ? null : (
            <Select
              field="concurrent_session_action"
              label={texts.sessionAction}
              value={draft.sessionAction}
              onChange={(sessionAction) => set({ sessionAction })}
              choices={Object.entries(texts.sessionActions) as [SessionAction, string][]}
            />
          )}
        </div>
      </details>
    </>
  );
}
