import { useState } from 'preact/hooks';
import { Code, Examples } from '../ui/examples.tsx';
import { Select } from '../ui/field.tsx';
import { Notice } from '../ui/notice.tsx';
import { type ConnectionItem, fileNameOf, serviceFor, type VaultName } from './data.ts';
import type { SecretPlace } from './example-facts.ts';
import { connectionExamples } from './example-texts.ts';
import { environmentFile } from './setup-texts.ts';
import { connectionTexts as texts } from './texts.ts';

/** The secrets that a connection can read, as far as the person may see them; null if that is not known. */
export type Reachable = { paths: readonly { vault: string; secret: string }[]; next_cursor: string | null } | null;

const EVERYTHING = '';
/** What reading a whole vault at once takes. */
const READ_ALL = ['secrets:aggregate', 'secrets:*'];

/** Code to copy into the program: for one of its secrets, or for all of them. */
export default function ConnectionUse({
  connection,
  vaults,
  reach,
}: {
  connection: ConnectionItem;
  vaults: readonly VaultName[];
  reach: Reachable;
}) {
  const { client_id, mtls_required, require_dpop, vault_ids, scopes } = connection;
  const name = fileNameOf(connection.name);
  const secrets = (reach?.paths ?? []).map(({ vault, secret }) => ({ vault, path: secret }));
  const named = vault_ids.flatMap((id) => vaults.find((vault) => vault.id === id)?.name ?? []);
  const mayReadAll = named.length > 0 && scopes.some((scope) => READ_ALL.includes(scope));
  const hasAll = mayReadAll && secrets.length !== 1;
  const [chosen, setChosen] = useState(EVERYTHING);
  const one = secrets.find((secret) => addressOf(secret) === chosen);
  const first = secrets[0] ?? { vault: named[0] ?? connection.vault ?? 'VAULT', path: 'PATH' };
  const { url, hasOwnAuthority } = serviceFor(connection);
  const facts = {
    url,
    clientId: client_id,
    name,
    reads: one ?? (hasAll ? { vaults: named, secrets } : first),
    hasCertificate: mtls_required,
    hasOwnAuthority,
    hasDpop: require_dpop,
  };
  const count = `${secrets.length}${reach !== null && reach.next_cursor !== null ? '+' : ''}`;
  return (
    <section class="card">
      <h2>{texts.use}</h2>
      <p class="soft">{texts.useText}</p>
      {mtls_required && connection.tls_url === null ? <Notice kind="warning">{texts.useNoTls}</Notice> : null}
      {mtls_required ? <p class="soft">{texts.useTls}</p> : null}
      {hasOwnAuthority ? <p class="soft">{texts.useOwnAuthority(`${name}-ca.pem`)}</p> : null}
      {require_dpop ? <p class="soft">{texts.useDpop}</p> : null}
      <h3>{texts.useEnvironment}</h3>
      <p class="soft">{texts.useEnvironmentText}</p>
      <Code label={texts.useEnvironment} code={environmentFile(facts)} />
      <h3>{texts.useCode}</h3>
      {secrets.length > 1 ? (
        <Select
          label={texts.useWhat}
          value={one === undefined && !hasAll ? addressOf(first) : chosen}
          onChange={setChosen}
          choices={[
            ...(hasAll ? [[EVERYTHING, texts.useAll(count)] as const] : []),
            ...secrets.map((secret) => [addressOf(secret), addressOf(secret)] as const),
          ]}
        />
      ) : null}
      <Examples label={texts.use} examples={connectionExamples(facts)} />
    </section>
  );
}

function addressOf({ vault, path }: SecretPlace): string {
  return `${vault}/${path}`;
}
