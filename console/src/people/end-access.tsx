import { useRef, useState } from 'preact/hooks';
import { all, call } from '../app/api.ts';
import { auditAddress } from '../app/audit-address.ts';
import { useLoaded } from '../app/loading.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { Checkbox } from '../ui/field.tsx';
import { WhenLoaded } from '../ui/notice.tsx';
import { waitsForApproval } from '../ui/pending-approval.ts';
import { toast } from '../ui/toasts.tsx';
import type { User } from './data.ts';
import { endTexts as texts } from './reach-texts.ts';

const PAGE = 200;

interface Rights {
  /** Vaults of which they are a member themselves. */
  readonly vaults: readonly string[];
  readonly groups: readonly { readonly id: string; readonly name: string }[];
}

/** A checklist for somebody who leaves: each step is one that can also be done by itself, and says if it is done already. */
export function EndAccess({ user, onClose, onDone }: { user: User; onClose: () => void; onDone: () => void }) {
  const rights = useLoaded((signal) => loadRights(user.id, signal), [user.id]);
  return <WhenLoaded of={rights}>{(found) => <Checklist {...{ user, rights: found, onClose, onDone }} />}</WhenLoaded>;
}

function Checklist({
  user: { id, email, status },
  rights: { vaults, groups },
  onClose,
  onDone,
}: {
  user: User;
  rights: Rights;
  onClose: () => void;
  onDone: () => void;
}) {
  const isDisabled = status === 'disabled';
  const [steps, setSteps] = useState({ disable: !isDisabled, vaults: vaults.length > 0, groups: groups.length > 0 });
  // After a failure the form is sent again, and what was done then must not be requested twice.
  const done = useRef(new Map<string, 'done' | 'waits'>());
  const once = async (name: string, request: () => Promise<unknown>) => {
    if (done.current.has(name)) return;
    done.current.set(name, waitsForApproval(await request()) ? 'waits' : 'done');
  };
  const submit = async () => {
    // Signing them out comes first: whatever fails after it, they are out.
    if (steps.disable) {
      await once('disable', () =>
        call('PATCH /v1/users/{user_id}', { path: { user_id: id }, body: { status: 'disabled' } }),
      );
    }
    for (const vault of steps.vaults ? vaults : []) {
      const path = { vault, member_id: id };
      await once(`vault ${vault}`, () => call('DELETE /v1/vaults/{vault}/members/{member_id}', { path }));
    }
    for (const { id: group_id } of steps.groups ? groups : []) {
      const path = { group_id, user_id: id };
      await once(`group ${group_id}`, () => call('DELETE /v1/groups/{group_id}/members/{user_id}', { path }));
    }
    const isWaiting = [...done.current.values()].includes('waits');
    if (!isWaiting) toast(texts.ended(email));
    onDone();
  };
  const step = (name: keyof typeof steps, label: string, hint: string, isDone: boolean) =>
    isDone ? (
      <p>
        {label} <span class="soft">({texts.done})</span>
      </p>
    ) : (
      <Checkbox
        label={label}
        hint={hint}
        isChecked={steps[name]}
        onChange={(isChecked) => setSteps({ ...steps, [name]: isChecked })}
      />
    );
  return (
    <FormDialog
      title={texts.title(email)}
      submitText={texts.submit}
      isDanger
      isIncomplete={!Object.values(steps).some(Boolean)}
      onClose={onClose}
      submit={submit}
    >
      <p>{texts.intro}</p>
      {step('disable', texts.disable, texts.disableHint, isDisabled)}
      {step('vaults', texts.vaults(vaults.length), texts.vaultsHint, vaults.length === 0)}
      {step('groups', texts.groups(groups.length), texts.groupsHint, groups.length === 0)}
      <p class="soft">
        {texts.after} <a href={auditAddress({ actor: id, action: 'secrets:read' })}>{texts.theirReads}</a>
      </p>
    </FormDialog>
  );
}

/** The groups are those by which they reach something: there is no list of the groups of a person. */
async function loadRights(userId: string, signal: AbortSignal): Promise<Rights> {
  const memberships = await all(async (cursor) => {
    const query = { limit: PAGE, ...(cursor && { cursor }) };
    const page = await call('GET /v1/users/{user_id}/vaults', { path: { user_id: userId }, query }, { signal });
    return { items: page.vaults, next_cursor: page.next_cursor };
  });
  const ways = await all(async (cursor) => {
    const query = { user: userId, limit: PAGE, ...(cursor && { cursor }) };
    const page = await call('GET /v1/access-paths', { query }, { signal });
    return { items: page.access_paths, next_cursor: page.next_cursor };
  });
  const groups = new Map(ways.flatMap(({ group }) => (group === null ? [] : [[group.id, group] as const])));
  return {
    vaults: memberships.flatMap(({ vault, group }) => (group === null ? [vault] : [])),
    groups: [...groups.values()],
  };
}
