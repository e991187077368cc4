import type { BoundEndpoint } from '../request/binding.ts';
import type { Built } from './declaration.ts';
import type { Provided, Subscription } from './links.ts';

/** A feature that is built: what runs of it, with its endpoints bound to their handlers. */
export interface Feature extends Omit<Built, 'handlers' | 'shares'> {
  readonly name: string;
  readonly endpoints: readonly BoundEndpoint[];
  readonly provides: readonly Provided[];
  readonly removals: readonly Subscription[];
}
