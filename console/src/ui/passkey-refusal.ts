import { CofferError } from '@coffer/client';
import { stepUpTexts as texts } from './step-up-texts.ts';

/** What the browser says when a person cancels or has no passkey here is for developers. */
export function asRefusal(error: unknown): never {
  const { name } = error as Error;
  const isCancelled = name === 'NotAllowedError' || name === 'AbortError';
  throw new CofferError(isCancelled ? texts.cancelled : texts.failed(name), { code: 'INVALID_ARGUMENT', cause: error });
}
