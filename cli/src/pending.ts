import type { Command } from 'commander';
import type { CofferError } from '../../client/src/index.ts';
import { note, printJson } from './output.ts';
import { wantsJson } from './settings.ts';

/** Says so if a change waits for somebody's approval instead of being done. */
export function sayIfPending(answer: object): boolean {
  if (!('approval_id' in answer) || !('status' in answer) || answer.status !== 'pending_approval') return false;
  note(`Not done yet: somebody else must approve it (${String(answer.approval_id)}).`);
  return true;
}

/** The same for a change of the client library, which throws if it waits. */
export function sayPending({ details }: CofferError, command: Command | null): void {
  if (command !== null && wantsJson(command)) printJson(details);
  else sayIfPending(details);
}
