import type { RouteOutput } from '@coffer/client';
import { useId, useState } from 'preact/hooks';
import { href } from '../app/router.ts';
import { useCall } from '../app/use-call.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { WhenLoaded } from '../ui/notice.tsx';
import { Time } from '../ui/time.tsx';
import { Decide } from './decide.tsx';
import { What } from './request.tsx';
import { approvalsTexts as texts } from './texts.ts';

type Waiting = RouteOutput<'GET /approvals'>['approvals'][number] & { readonly title: string };

/** Requests that wait, each with who wants what and why. What it changes is loaded when it is unfolded, and decided there. */
export function ApprovalCards({ approvals, onDecided }: { approvals: readonly Waiting[]; onDecided: () => void }) {
  return (
    <div class="stack">
      {approvals.map((approval) => (
        <Card key={approval.id} approval={approval} onDecided={onDecided} />
      ))}
    </div>
  );
}

function Card({ approval, onDecided }: { approval: Waiting; onDecided: () => void }) {
  const { id, title, requested_by, created_at, expires_at, can_approve, details } = approval;
  const [isOpen, setOpen] = useState(false);
  const heading = useId();
  const reason = details['reason'];
  return (
    <section class="card" aria-labelledby={heading}>
      <div class="row between">
        <h2 id={heading}>
          <a href={href('approvals', id)}>{title}</a>
        </h2>
        {can_approve ? <Badge tone="accent">{texts.yourTurn}</Badge> : null}
      </div>
      <p class="soft">
        {texts.requestedBy} {requested_by.name}, <Time at={created_at} />. {texts.ends} <Time at={expires_at} />.
      </p>
      {typeof reason === 'string' ? <blockquote>{reason}</blockquote> : null}
      <div>
        <Button
          isSmall
          isExpanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          label={`${isOpen ? texts.fold : texts.unfold}: ${title}`}
        >
          {isOpen ? texts.fold : texts.unfold}
        </Button>
      </div>
      {isOpen ? <Unfolded id={id} onDecided={onDecided} /> : null}
    </section>
  );
}

function Unfolded({ id, onDecided }: { id: string; onDecided: () => void }) {
  const detail = useCall('GET /approvals/{approval_id}', { path: { approval_id: id } });
  return (
    <WhenLoaded of={detail}>
      {(data) => (
        <div class="columns">
          <What request={data.request} status={data.status} />
          <Decide approval={data} onDecided={onDecided} />
        </div>
      )}
    </WhenLoaded>
  );
}
