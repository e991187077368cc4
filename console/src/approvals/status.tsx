import { Badge, type Tone } from '../ui/badge.tsx';
import { approvalsTexts as texts } from './texts.ts';

export type Status = keyof typeof texts.statuses;

const TONES: Partial<Record<Status, Tone>> = {
  pending: 'warning',
  completed: 'good',
  rejected: 'danger',
  failed: 'danger',
};

/** Where a request stands that needs, or needed, a second person. */
export function ApprovalStatus({ status }: { status: Status }) {
  return <Badge tone={TONES[status]}>{texts.statuses[status]}</Badge>;
}
