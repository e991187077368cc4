export { graceUntil } from './links.ts';
export { PLAN_LIMITS_TABLE } from './plans-store.ts';
