import type { RouteOutput } from '@coffer/client';
import { useState } from 'preact/hooks';
import { all, call } from '../app/api.ts';
import { mayOne } from '../app/capabilities.ts';
import { useLoaded } from '../app/loading.ts';
import { href } from '../app/router.ts';
import { membersTexts, type VaultRole, VaultRoleChoice, vaultsToAddTo } from '../grants/index.ts';
import { Badge, EnvironmentBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { Empty, WhenLoaded } from '../ui/notice.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import type { User } from './data.ts';
import { peopleTexts as texts } from './texts.ts';

type Membership = RouteOutput<'GET /v1/users/{user_id}/vaults'>['vaults'][number] & { readonly mayRemove: boolean };

const PAGE = 200;

async function loadVaults(userId: string, signal: AbortSignal): Promise<Membership[]> {
  const found = await all(async (cursor) => {
    const query = { limit: PAGE, ...(cursor && { cursor }) };
    const page = await call('GET /v1/users/{user_id}/vaults', { path: { user_id: userId }, query }, { signal });
    return { items: page.vaults, next_cursor: page.next_cursor };
  });
  return Promise.all(
    found.map(async (each) => ({
      ...each,
      // What a group gives is taken away in the group.
      mayRemove: each.group === null && (await mayOne(['members:remove', `vault/${each.vault}`])),
    })),
  );
}

/** The vaults that somebody is a member of, as far as the signed-in person may see it. */
export default function PersonVaults({ user }: { user: User }) {
  const vaults = useLoaded((signal) => loadVaults(user.id, signal), [user.id]);
  const addable = useLoaded(vaultsToAddTo, []);
  const [opened, setOpened] = useState<'add' | { readonly remove: string } | null>(null);
  const close = () => setOpened(null);
  const changed = () => {
    close();
    vaults.reload();
  };
  const choices = addable.data ?? [];
  return (
    <section class="card">
      <div class="row between">
        <h2>{texts.vaults}</h2>
        {choices.length > 0 ? (
          <Button isSmall onClick={() => setOpened('add')}>
            {texts.addToVault}
          </Button>
        ) : null}
      </div>
      <p class="soft">{texts.vaultsIntro}</p>
      <WhenLoaded of={vaults}>
        {(list) =>
          list.length === 0 ? (
            <Empty title={texts.noVaults}>{texts.noVaultsText}</Empty>
          ) : (
            <Memberships list={list} onRemove={(vault) => setOpened({ remove: vault })} />
          )
        }
      </WhenLoaded>
      {opened === 'add' ? <AddToVault user={user} choices={choices} onClose={close} onDone={changed} /> : null}
      {opened !== null && opened !== 'add' ? (
        <Confirm
          title={texts.removeFromVault(user.email, opened.remove)}
          submitText={shared.remove}
          onClose={close}
          work={async () => {
            const path = { vault: opened.remove, member_id: user.id };
            await call('DELETE /v1/vaults/{vault}/members/{member_id}', { path });
            toast(membersTexts.removed(user.email));
            changed();
          }}
        >
          {membersTexts.removeText}
        </Confirm>
      ) : null}
    </section>
  );
}

function Memberships({ list, onRemove }: { list: readonly Membership[]; onRemove: (vault: string) => void }) {
  return (
    <Table
      caption={texts.vaults}
      rows={list}
      keyOf={({ vault, group }) => `${vault} ${group ?? ''}`}
      columns={[
        { title: texts.vault, cell: ({ vault }) => <a href={href('vaults', vault)}>{vault}</a> },
        { title: shared.environment, cell: ({ environment }) => <EnvironmentBadge environment={environment} /> },
        {
          title: texts.role,
          cell: ({ role, group }) => (
            <>
              <Badge>{membersTexts.roles[role]}</Badge> {group === null ? null : texts.byGroup(group)}
            </>
          ),
        },
        { title: membersTexts.since, cell: ({ added_at }) => <Time at={added_at} /> },
        {
          title: shared.actions,
          isActions: true,
          cell: ({ vault, mayRemove }) =>
            mayRemove ? (
              <Button isSmall label={shared.removeValue(vault)} onClick={() => onRemove(vault)}>
                {shared.remove}
              </Button>
            ) : null,
        },
      ]}
    />
  );
}

function AddToVault({
  user,
  choices,
  onClose,
  onDone,
}: {
  user: User;
  choices: readonly string[];
  onClose: () => void;
  onDone: () => void;
}) {
  const [vault, setVault] = useState('');
  const [role, setRole] = useState<VaultRole>('reader');
  const submit = async () => {
    const name = vault.trim();
    const answer = await call('POST /v1/vaults/{vault}/members', {
      path: { vault: name },
      body: { user: user.id, role },
    });
    if (!waitsForApproval(answer)) toast(texts.addedToVault(user.email, name));
    onDone();
  };
  return (
    <FormDialog title={`${texts.addToVault}: ${user.email}`} submitText={shared.add} onClose={onClose} submit={submit}>
      <TextField
        field="vault"
        label={texts.vault}
        value={vault}
        onInput={setVault}
        choices={choices}
        isRequired
        isFocused
      />
      <VaultRoleChoice value={role} onChange={setRole} />
    </FormDialog>
  );
}
