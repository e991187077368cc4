import { Badge } from '../ui/badge.tsx';
import type { ConnectionItem } from './data.ts';
import { connectionsTexts as texts } from './texts.ts';

export function ConnectionStatus({ status }: { status: ConnectionItem['status'] }) {
  return <Badge tone={status === 'active' ? 'good' : 'warning'}>{texts.statuses[status]}</Badge>;
}

export function Proof({ connection: { mtls_required, require_dpop } }: { connection: ConnectionItem }) {
  return (
    <span class="row">
      <Badge>{texts.secretOnly}</Badge>
      {mtls_required ? <Badge tone="accent">{texts.certificate}</Badge> : null}
      {require_dpop ? <Badge tone="accent">{texts.dpop}</Badge> : null}
    </span>
  );
}
