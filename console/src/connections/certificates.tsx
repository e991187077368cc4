import type { RouteOutput } from '@coffer/client';
import { useState } from 'preact/hooks';
import { call } from '../app/api.ts';
import { loadList } from '../app/load-list.ts';
import { useLoaded } from '../app/loading.ts';
import { Badge, type Tone } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { WhenLoaded } from '../ui/notice.tsx';
import { Table } from '../ui/table.tsx';
import { shared } from '../ui/texts.ts';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { connectionTexts as texts } from './texts.ts';

const ROUTE = 'GET /v1/app-connections/{connection}/certificates';
type Certificate = RouteOutput<typeof ROUTE>['certificates'][number];
type State = keyof typeof texts.states;

const CERTIFICATES_MAX = 1000;
const TONES: Readonly<Record<State, Tone | undefined>> = {
  valid: 'good',
  ending: 'warning',
  revoked: 'danger',
  expired: undefined,
};

export function ConnectionCertificates({ clientId, mayRevoke }: { clientId: string; mayRevoke: boolean }) {
  const [revoked, setRevoked] = useState<Certificate | null>(null);
  const certificates = useLoaded(
    (signal) => loadList(ROUTE, 'certificates', signal, { path: { connection: clientId }, max: CERTIFICATES_MAX }),
    [clientId],
  );
  return (
    <section class="card">
      <h2>{texts.certificates}</h2>
      <WhenLoaded of={certificates}>
        {(list) =>
          list.length === 0 ? (
            <p class="soft">{texts.noCertificates}</p>
          ) : (
            <Table
              caption={texts.certificates}
              rows={[...list].sort((a, b) => b.not_before.localeCompare(a.not_before))}
              keyOf={({ serial }) => serial}
              columns={[
                {
                  title: texts.serial,
                  cell: ({ serial, is_exchanged }) => (
                    <>
                      <code>{serial}</code>
                      {is_exchanged ? <div class="soft">{texts.exchanged}</div> : null}
                    </>
                  ),
                },
                {
                  title: texts.state,
                  cell: (each) => (
                    <>
                      <Badge tone={TONES[stateOf(each)]}>{texts.states[stateOf(each)]}</Badge>
                      {each.reason === '' ? null : <div class="soft">{each.reason}</div>}
                    </>
                  ),
                },
                {
                  title: texts.validUntil,
                  cell: (each) => <Time at={each.revoked_at ?? each.not_after} />,
                },
                {
                  title: shared.actions,
                  isActions: true,
                  cell: (each) =>
                    mayRevoke && ['valid', 'ending'].includes(stateOf(each)) ? (
                      <Button isSmall label={`${texts.revoke} ${each.serial}`} onClick={() => setRevoked(each)}>
                        {texts.revoke}
                      </Button>
                    ) : null,
                },
              ]}
            />
          )
        }
      </WhenLoaded>
      {revoked === null ? null : (
        <Revoke
          clientId={clientId}
          serial={revoked.serial}
          onClose={() => setRevoked(null)}
          onDone={() => {
            setRevoked(null);
            certificates.reload();
          }}
        />
      )}
    </section>
  );
}

function stateOf({ revoked_at, not_after }: Certificate, now = Date.now()): State {
  if (Date.parse(not_after) <= now) return 'expired';
  if (revoked_at === null) return 'valid';
  return Date.parse(revoked_at) <= now ? 'revoked' : 'ending';
}

function Revoke({
  clientId,
  serial,
  onClose,
  onDone,
}: {
  clientId: string;
  serial: string;
  onClose: () => void;
  onDone: () => void;
}) {
  const [reason, setReason] = useState('');
  const submit = async () => {
    await call('POST /v1/app-connections/{connection}/certificates/{serial}/revoke', {
      path: { connection: clientId, serial },
      body: reason.trim() === '' ? {} : { reason: reason.trim() },
    });
    toast(texts.revoked);
    onDone();
  };
  return (
    <FormDialog title={texts.revokeTitle} submitText={texts.revoke} isDanger onClose={onClose} submit={submit}>
      <p>{texts.revokeText}</p>
      <code>{serial}</code>
      <TextField
        field="reason"
        label={texts.reason}
        hint={texts.reasonHint}
        value={reason}
        onInput={setReason}
        isFocused
      />
    </FormDialog>
  );
}
