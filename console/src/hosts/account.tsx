import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { useCall } from '../app/use-call.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog, FormDialog } from '../ui/dialog.tsx';
import { Select, TextField } from '../ui/field.tsx';
import { WhenLoaded } from '../ui/notice.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { toast } from '../ui/toasts.tsx';
import type { AccountItem, People } from './data.ts';
import { hostsTexts as texts } from './texts.ts';

interface LinkProps {
  account: AccountItem;
  people: People;
  onClose: () => void;
  onDone: () => void;
}

/** Who may not see the people of the tenant names one by id or e-mail address. */
export function LinkAccount({ account, people, onClose, onDone }: LinkProps) {
  const [user, setUser] = useState(account.user_id ?? '');
  const submit = async () => {
    await call('POST /endpoint-discovery/accounts/{account_id}/link', {
      path: { account_id: account.id },
      body: { user: user.trim() === '' ? null : user.trim() },
    });
    toast(user.trim() === '' ? texts.unlinked : texts.linked);
    onDone();
  };
  return (
    <FormDialog title={texts.linkTitle(account.username)} submitText={shared.save} onClose={onClose} submit={submit}>
      <p>{texts.linkText}</p>
      {people.size === 0 ? (
        <TextField field="user" label={texts.linkEmail} value={user} onInput={setUser} isFocused />
      ) : (
        <Select
          field="user"
          label={texts.linkPerson}
          value={user}
          onChange={setUser}
          choices={[['', texts.linkNobody], ...people]}
        />
      )}
    </FormDialog>
  );
}

export function AccountKeys({ account, onClose }: { account: AccountItem; onClose: () => void }) {
  const detail = useCall('GET /endpoint-discovery/accounts/{account_id}', { path: { account_id: account.id } });
  return (
    <Dialog title={texts.keysTitle(account.username)} isWide onClose={onClose}>
      <WhenLoaded of={detail}>
        {({ ssh_keys }) =>
          ssh_keys.length === 0 ? (
            <p class="soft">{texts.noKeys}</p>
          ) : (
            <Table
              caption={texts.sshKeys}
              rows={ssh_keys}
              keyOf={({ fingerprint_sha256 }) => fingerprint_sha256}
              columns={[
                { title: texts.type, cell: ({ type }) => type },
                { title: texts.fingerprint, cell: ({ fingerprint_sha256 }) => <code>{fingerprint_sha256}</code> },
                { title: texts.comment, cell: ({ comment }) => comment },
                {
                  title: texts.flags,
                  cell: ({ flags }) =>
                    flags.map((flag) => (
                      <Badge key={flag} tone="warning">
                        {flag}
                      </Badge>
                    )),
                },
              ]}
            />
          )
        }
      </WhenLoaded>
      <div class="dialog-foot">
        <Button kind="primary" onClick={onClose}>
          {shared.close}
        </Button>
      </div>
    </Dialog>
  );
}
