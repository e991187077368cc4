import Type from 'typebox';
import { named } from '../named-schemas.ts';
import { object, oneOf } from '../wire.ts';
import { PLANS } from './rate-classes.ts';

export const PlanName = named('Plan', 'What a tenant may have and do, and how often.', oneOf(PLANS));

const rateLimit = (what: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000_000, description: `${what} a minute.` }));

export const RateLimits = named(
  'RateLimits',
  'Limits of its own, in place of those of the plan.',
  object({
    read: rateLimit('Reads'),
    write: rateLimit('Changes'),
    rotate: rateLimit('Rotations'),
    aggregate: rateLimit('Requests that read much'),
  }),
);
