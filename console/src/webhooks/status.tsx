import { Badge } from '../ui/badge.tsx';
import type { WebhookItem } from './edit.tsx';
import { webhooksTexts as texts } from './texts.ts';

export function WebhookState({ webhook: { enabled, disabled_reason } }: { webhook: WebhookItem }) {
  return (
    <>
      <Badge tone={enabled ? 'good' : 'warning'}>{enabled ? texts.on : texts.off}</Badge>
      {disabled_reason === null ? null : <div class="soft">{disabled_reason}</div>}
    </>
  );
}
