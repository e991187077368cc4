import { note } from './output.ts';

/** Says so if a change waits for somebody's approval instead of being done. */
export function sayIfPending(answer: object): boolean {
  if (!('approval_id' in answer) || !('status' in answer) || answer.status !== 'pending_approval') return false;
  note(`Not done yet: somebody else must approve it (${String(answer.approval_id)}).`);
  return true;
}
