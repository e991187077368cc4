import { SealError, type SealProvider } from './provider.ts';

export function openProvider(_reference: string, _surroundings: unknown): SealProvider {
  throw new SealError('misconfigured', 'The reference of a seal begins with the kind of its provider.');
}
