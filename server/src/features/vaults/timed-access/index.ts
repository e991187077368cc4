export {
  countTimedAccessOf,
  endedTimedAccess,
  endTimedAccess,
  findTimedAccess,
  insertTimedAccess,
  lockTimedAccess,
  TIMED_ROLES,
  type TimedAccessRow,
  timedAccessBack,
} from './timed-access-store.ts';
