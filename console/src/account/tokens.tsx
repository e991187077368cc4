import type { RouteOutput } from '@coffer/client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { all, call, loadMe } from '../app/api.ts';
import { useMay } from '../app/capabilities.ts';
import { useLoaded } from '../app/loading.ts';
import { place } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { ACTIONS } from '../policies/index.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { listOf } from '../ui/comma-list.ts';
import { Confirm } from '../ui/confirm.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Checkbox, TextField } from '../ui/field.tsx';
import { useForm } from '../ui/form-values.ts';
import { WhenLoaded } from '../ui/notice.tsx';
import { ShownOnce } from '../ui/shown-once.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { ValueList } from '../ui/value-list.tsx';
import { tokensTexts as texts } from './texts.ts';

type Token = RouteOutput<'GET /auth/tokens'>['tokens'][number];
type Opened = { what: 'create' } | { what: 'revoke'; token: Token } | { what: 'shown'; name: string; token: string };

const PAGE = 200;
const DAYS = '90';

function loadTokens(signal: AbortSignal): Promise<Token[]> {
  return all(async (cursor) => {
    const page = await call('GET /auth/tokens', { query: { limit: PAGE, ...(cursor && { cursor }) } }, { signal });
    return { items: page.tokens.filter(({ kind }) => kind === 'pat'), next_cursor: page.next_cursor };
  });
}

export function MyTokens() {
  const may = useMay({ create: ['tokens:create', 'self/tokens'], delete: ['tokens:delete', 'self/tokens/example'] });
  const tokens = useLoaded(loadTokens, []);
  const [opened, setOpened] = useState<Opened | null>(null);
  const [isAll, setAll] = useState(false);
  const close = () => setOpened(null);
  const ref = useRef<HTMLElement>(null);
  const isLoaded = tokens.data !== null;
  useEffect(() => {
    if (isLoaded && place.value.query.get('part') === 'tokens') ref.current?.scrollIntoView();
  }, [isLoaded]);
  return (
    <section class="card" ref={ref}>
      <div class="row between">
        <h2>{texts.title}</h2>
        {may.create ? <Button onClick={() => setOpened({ what: 'create' })}>{texts.create}</Button> : null}
      </div>
      <p class="soft">{texts.intro}</p>
      <WhenLoaded of={tokens}>
        {(list) => (
          <>
            {list.some(({ status }) => status !== 'active') ? (
              <Checkbox label={texts.showEnded} isChecked={isAll} onChange={setAll} />
            ) : null}
            <Tokens
              tokens={list.filter(({ status }) => isAll || status === 'active')}
              onRevoke={may.delete ? (token) => setOpened({ what: 'revoke', token }) : null}
            />
          </>
        )}
      </WhenLoaded>
      {opened?.what === 'create' ? (
        <CreateToken
          onClose={close}
          onDone={(name, token) => {
            setOpened({ what: 'shown', name, token });
            tokens.reload();
          }}
        />
      ) : null}
      {opened?.what === 'shown' ? (
        <ShownOnce title={texts.shownTitle(opened.name)} label={texts.shownLabel} value={opened.token} onClose={close}>
          <p>{texts.shownText}</p>
        </ShownOnce>
      ) : null}
      {opened?.what === 'revoke' ? (
        <Confirm
          title={texts.revokeTitle(opened.token.name)}
          submitText={texts.revoke}
          onClose={close}
          work={async () => {
            await call('DELETE /auth/tokens/{token_id}', { path: { token_id: opened.token.id } });
            toast(texts.revoked(opened.token.name));
            // Whoever was reminded of the first token no longer is.
            await loadMe();
            close();
            tokens.reload();
          }}
        >
          {texts.revokeText}
        </Confirm>
      ) : null}
    </section>
  );
}

function Tokens({ tokens, onRevoke }: { tokens: readonly Token[]; onRevoke: ((token: Token) => void) | null }) {
  if (tokens.length === 0) return <p class="soft">{texts.none}</p>;
  return (
    <Table
      caption={texts.title}
      rows={tokens}
      keyOf={({ id }) => id}
      columns={[
        { title: texts.name, cell: ({ name }) => name },
        { title: texts.reach, cell: ({ scope }) => reachOf(scope) },
        {
          title: shared.status,
          cell: ({ status }) => <Badge tone={status === 'active' ? 'good' : undefined}>{texts.statuses[status]}</Badge>,
        },
        { title: texts.endsWith, cell: (token) => endsWith(token, tokens) },
        { title: texts.expires, cell: ({ expires_at }) => <Time at={expires_at} /> },
        {
          title: shared.actions,
          isActions: true,
          cell: (token) =>
            onRevoke !== null && token.status === 'active' ? (
              <Button isSmall label={texts.revokeTitle(token.name)} onClick={() => onRevoke(token)}>
                {texts.revoke}
              </Button>
            ) : null,
        },
      ]}
    />
  );
}

function endsWith({ ends_with_sessions, parent_id }: Token, all: readonly Token[]): string {
  if (ends_with_sessions) return texts.withSessions;
  return all.some(({ id }) => id === parent_id) ? texts.withToken : texts.withItself;
}

function reachOf(scope: Token['scope']): string {
  if (scope === null) return texts.everything;
  return texts.limited((scope.vaults ?? []).join(', '), (scope.actions ?? []).join(', '));
}

function CreateToken({ onClose, onDone }: { onClose: () => void; onDone: (name: string, token: string) => void }) {
  const form = useForm({ name: '', days: DAYS, addresses: '', isIndependent: false });
  const { name, days, addresses, isIndependent } = form.values;
  const [vaults, setVaults] = useState<readonly string[]>([]);
  const [actions, setActions] = useState<readonly string[]>([]);
  const known = useCall('GET /v1/vaults', { query: { limit: PAGE } });
  const submit = async () => {
    const scope = {
      ...(vaults.length > 0 && { vaults: [...vaults] }),
      ...(actions.length > 0 && { actions: [...actions] }),
    };
    const body = {
      name: name.trim(),
      ttl_days: Number(days),
      ...(Object.keys(scope).length > 0 && { scope }),
      ...(listOf(addresses).length > 0 && { ip_allowlist: listOf(addresses) }),
      ...(isIndependent && { ends_with_sessions: false }),
    };
    const { token } = await call('POST /auth/tokens', { body });
    onDone(body.name, token);
  };
  return (
    <FormDialog title={texts.createTitle} submitText={shared.create} onClose={onClose} submit={submit}>
      <TextField label={texts.name} hint={texts.nameHint} {...form.text('name')} isRequired isFocused />
      <TextField label={texts.days} hint={texts.daysHint} type="number" {...form.text('days', 'ttl_days')} isRequired />
      <ValueList
        field="scope/vaults"
        label={texts.vaults}
        hint={texts.vaultsHint}
        values={vaults}
        choices={(known.data?.vaults ?? []).map((vault) => vault.name)}
        onChange={setVaults}
      />
      <ValueList
        field="scope/actions"
        label={texts.actions}
        hint={texts.actionsHint}
        values={actions}
        choices={ACTIONS}
        onChange={setActions}
      />
      <TextField label={texts.addresses} hint={texts.addressesHint} {...form.text('addresses', 'ip_allowlist')} />
      <Checkbox
        label={texts.independent}
        hint={texts.independentHint}
        {...form.check('isIndependent', 'ends_with_sessions')}
      />
    </FormDialog>
  );
}
