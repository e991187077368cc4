import Type from 'typebox';
import { named } from '../wire/named-schemas.ts';
import { object, oneOf } from '../wire/wire.ts';
import { PLANS } from './rate-classes.ts';

export const PlanName = named(
  'Plan',
  'The plan of a tenant, which sets its quotas, rate limits and features.',
  oneOf(PLANS),
);

const rateLimit = (what: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000_000, description: `${what} per minute.` }));

export const RateLimits = named(
  'RateLimits',
  'Rate limits of this tenant, which override those of its plan.',
  object({
    read: rateLimit('Reads'),
    write: rateLimit('Changes'),
    rotate: rateLimit('Rotations'),
    aggregate: rateLimit('Requests that read many items'),
  }),
);
